"""A trace as text: the step table of a call, the compact grid, and the summary of a program."""

from __future__ import annotations

from collections.abc import Iterator

from mpicoll.analysis.findings import letters, spell
from mpicoll.commands.units import show_bytes, show_seconds, table
from mpicoll.show.text import round_line
from mpicoll.steps import Recv, Send
from mpicoll.trace.contents import COMPLETE, WRONG, Contents, Held
from mpicoll.trace.model import Call, Trace
from mpicoll.trace.path import waited

__all__ = ["call_text", "grid", "rows", "summary"]

MARKS = {COMPLETE: "*", WRONG: "!"}


def rows(call: Call) -> list[dict[int, str]]:
    """For every step of the whole, the line of each rank that ends a round in it.

    Messages are those that were seen in the run; what they carry is what the plan says of them.
    """
    contents = call.contents
    lines: list[dict[int, str]] = [{} for _ in range(contents.schedule.steps)]
    for rank in range(call.size):
        seen = {(e.round, e.step) for e in call.parts[rank] if e.kind in ("send", "recv")}
        if call.form == "objects":  # each kind numbered by itself: judged in the merge
            seen = {
                (number, index)
                for number, steps in enumerate(contents.plans[rank])
                for index, step in enumerate(steps)
                if isinstance(step, (Send, Recv))
            }
        for number, end in enumerate(contents.schedule.ends[rank]):
            steps = contents.plans[rank][number]
            line = round_line(
                rank, number, steps, contents.values, lambda i, n=number, s=seen: (n, i) in s
            )
            if end >= 0 and line:
                known = lines[end].get(rank)
                lines[end][rank] = f"{known}; {line}" if known else line
    return lines


def call_text(call: Call, style: str = "table") -> str:
    """The whole story of one call: `style` is "table" or "grid"."""
    contents = call.contents
    lines = [heading(call)]
    if contents is None:
        lines += ["", *_messages(call)]
    elif style == "grid":
        lines += ["", grid(call)]
    else:
        lines += _table(call, contents)
    lines += ["", *_times(call)]
    lines += [f"NOT AS PLANNED: {problem}" for problem in call.problems]
    return "\n".join(lines)


def heading(call: Call) -> str:
    """What was called, and how long it took."""
    words = [call.title]
    words += [call.dtype] if call.dtype else []
    words += [call.op] if call.op else []
    if call.form != "blocking":
        words.append(call.form)
    return f"{', '.join(words)}: {_seconds(call.end - call.begin)}"


def _table(call: Call, contents: Contents) -> Iterator[str]:
    numbers, phase, phases = 0, None, 0
    for number, ranks in enumerate(rows(call)):
        if contents.phases[number] != phase:
            phase, numbers, phases = contents.phases[number], 0, phases + 1
            yield ""
            yield f"phase {phases}: {phase}"
        numbers += 1
        yield f"  step {numbers}"
        for rank, text in ranks.items():
            colon = "" if text.startswith(("receives", "sends")) else ":"
            yield f"    rank {rank}{colon} {text}"
    yield ""
    yield legend(call)


def legend(call: Call) -> str:
    """What the letters and numbers mean."""
    if call.collective == "barrier":
        return "word: a message without content"
    last = letters(call.size - 1)
    names = "A is rank 0" + (f", {last} rank {call.size - 1}" if call.size > 1 else "")
    return f"{names}; A2 is chunk 2 of rank 0's data; A2+{last}2 combines them in this order"


def cell(contents: Contents, held: Held | None) -> str:
    """A block in the grid: the letters of those who contributed, or the piece itself."""
    if held is None:
        return "."
    number, ranks = held
    if number < 0 or not ranks:
        return "?"
    if not contents.algorithm.spec.reduces:
        return spell(number, ranks)
    return ("" if contents.size <= 26 else "+").join(letters(rank) for rank in ranks)


def grid(call: Call) -> str:
    """Rank x chunk before the call and after every step; complete chunks have a star."""
    contents = call.contents
    if contents.blocks == 0 or call.collective == "barrier":
        return "\n".join(_messages(call))
    every = [contents.rows(rank) for rank in range(call.size)]
    final = contents.schedule.steps
    cells = [
        [
            [
                cell(contents, held)
                + MARKS.get(contents.state(rank, block, held, step == final), "")
                for block, held in enumerate(row)
            ]
            for rank, row in enumerate(ranks)
        ]
        for step, ranks in enumerate(zip(*every, strict=True))
    ]
    width = max(2, *(len(text) for step in cells for row in step for text in row))
    label = len(f"rank {call.size - 1}") + 1
    lines = []
    for step, ranks in enumerate(cells):
        name = f"step {step}" if step else "before"
        head = "".join(f" {block:>{width}}" for block in range(contents.blocks))
        lines += ["", f"{name:<{label}}{head}"]
        for rank, row in enumerate(ranks):
            lines.append(
                f"{f'rank {rank}':<{label}}" + "".join(f" {text:>{width}}" for text in row)
            )
    return "\n".join([*lines[1:], "", "* complete, ! wrong"])


def _messages(call: Call) -> Iterator[str]:
    """The messages of a call, in the order of time."""
    for message in call.messages:
        yield (
            f"{_seconds(message.begin - call.begin):>9}  rank {message.source} to rank "
            f"{message.peer}: {message.nbytes} bytes, there after "
            f"{_seconds(message.end - message.begin)}"
        )


def _times(call: Call) -> list[str]:
    late = waited(call)
    rows_ = []
    for rank, (begin, end) in sorted(call.spans.items()):
        own = call.parts[rank]
        sent = [event for event in own if event.kind == "send"]
        local = sum(e.end - e.begin for e in own if e.kind in ("copy", "reduce"))
        rows_.append(
            [
                str(call.members[rank]),
                str(len(sent)),
                show_bytes(sum(event.nbytes for event in sent)),
                show_bytes(sum(event.nbytes for event in own if event.kind == "recv")),
                _seconds(begin - call.begin),
                _seconds(end - begin),
                _seconds(late[rank]),
                _seconds(local),
            ]
        )
    head = ["rank", "messages", "sent", "received", "called after", "time", "waiting", "local"]
    return table(head, rows_).splitlines()


def _seconds(ns: int) -> str:
    return show_seconds(ns * 1e-9) if ns > 0 else "0"


def summary(trace: Trace) -> str:
    """What a program called, and where its time went."""
    hosts = len(set(trace.hosts))
    lines = [
        f"{len(trace.calls):,} collectives and {len(trace.messages):,} messages of the program's "
        f"own on {trace.size} ranks of {hosts} host{'s' if hosts > 1 else ''} in "
        f"{_seconds(trace.end)}",
        f"{trace.records:,} records, {sum(trace.dropped):,} dropped",
    ]
    if hosts > 1:
        lines.append(f"clocks agree to within {_seconds(max(trace.clock_errors))}")
    groups: dict[tuple, list[Call]] = {}
    for call in trace.calls:
        key = (call.collective, call.form, call.algorithm, call.size)
        groups.setdefault(key, []).append(call)
    body = []
    for (collective, form, algorithm, size), calls in sorted(groups.items()):
        whole = [call for call in calls if call.whole]
        body.append(
            [
                collective,
                form,
                algorithm,
                str(size),
                f"{len(calls):,}",
                f"{len(calls) - len(whole):,}",
                show_bytes(sum(m.nbytes for call in whole for m in call.messages)),
                _seconds(sum(call.end - call.begin for call in whole)),
                _seconds(sum(max(waited(call).values(), default=0) for call in whole)),
            ]
        )
    head = ["collective", "form", "algorithm", "ranks", "calls", "cut", "bytes sent", "time"]
    if body:
        lines += ["", table([*head, "longest wait"], body, left=3)]
        lines.append(
            "cut: calls of which records have been dropped, or that some ranks did not end"
        )
    lines += [f"NOT AS PLANNED: {problem}" for problem in trace.problems]
    return "\n".join(lines)
