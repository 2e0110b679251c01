"""Whether a run did what the plan says: every message and every combination, and their bytes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from mpicoll.steps import Copy, Recv, Reduce, Send
from mpicoll.trace.contents import Contents
from mpicoll.trace.model import Call, Event

__all__ = ["judge"]

KIND_OF = {Send: "send", Recv: "recv", Copy: "copy", Reduce: "reduce"}


def judge(call: Call) -> list[str]:
    """What is not as the plan says, in sentences; nothing for calls whose plan is not known."""
    contents = call.contents
    if contents is None:
        return []
    found = []
    if not contents.proof.ok:
        found.append(contents.proof.explain())
    for rank in range(call.size):
        steps = call.parts[rank]
        if call.form == "objects":
            steps = list(_numbered(steps, contents, rank))
        found += _messages(rank, steps, contents)
        found += _rounds(rank, steps)
    if call.form != "objects":
        found += _sizes(call, contents)
    return found


def _numbered(events: list[Event], contents: Contents, rank: int) -> Iterator[Event]:
    """Objects number sends and receives of a round each by themselves: here, as the plan does."""
    plan = contents.plans[rank]
    for event in events:
        if event.kind in ("send", "recv") and event.round < len(plan):
            own = [i for i, s in enumerate(plan[event.round]) if KIND_OF[type(s)] == event.kind]
            if event.step < len(own):
                event = event._replace(step=own[event.step])
        yield event


def _messages(rank: int, events: list[Event], contents: Contents) -> Iterator[str]:
    """Messages that are missing, that should not be, or that went elsewhere."""
    due = contents.due[rank]
    # A message too long for MPI travels in pieces: each step counts once.
    done = {(e.round, e.step, e.kind, e.peer): 1 for e in events if e.kind in ("send", "recv")}
    if due != done:
        for some, others, what in ((due, done, "did not"), (done, due, "was not to")):
            missing = some.keys() - others.keys()
            for number, _, kind, peer in sorted(missing):
                verb = "send to" if kind == "send" else "receive from"
                yield f"rank {rank}, round {number + 1}: it {what} {verb} rank {peer}"
    plan = contents.plans[rank]
    for event in events:
        if event.kind == "reduce" and event.round >= 0:
            steps = plan[event.round] if event.round < len(plan) else ()
            if not any(isinstance(step, Reduce) for step in steps):
                yield f"rank {rank}, round {event.round + 1}: it was not to combine anything"


def _rounds(rank: int, events: list[Event]) -> Iterator[str]:
    """A round must not begin before the one before it has ended."""
    spans: dict[int, list[int]] = {}
    for event in events:
        if event.round >= 0:
            span = spans.setdefault(event.round, [event.begin, event.end])
            span[0], span[1] = min(span[0], event.begin), max(span[1], event.end)
    ordered = sorted(spans.items())
    for (before, (_, end)), (number, (begin, _)) in pairwise(ordered):
        if begin < end:
            yield f"rank {rank}: round {number + 1} began before round {before + 1} had ended"


def _sizes(call: Call, contents: Contents) -> Iterator[str]:
    """Every block must have one size, in whatever message it travels."""
    sums: dict[tuple[int, int, int], int] = {}
    for rank, events in call.parts.items():
        for event in events:
            if event.kind == "recv":
                place = (rank, event.round, event.step)
                sums[place] = sums.get(place, 0) + event.nbytes
    known: dict[object, int] = {}
    later = []
    geometry = contents.geometry
    for place, nbytes in sorted(sums.items()):
        rank, number, index = place
        plan = contents.plans[rank]
        if number >= len(plan) or index >= len(plan[number]):
            continue
        symbols = geometry[rank].extents(plan[number][index][-1])
        if len(symbols) != 1:
            later.append((place, symbols, nbytes))
        elif known.setdefault(symbols[0], nbytes) != nbytes:
            yield _mismatch(place, nbytes, known[symbols[0]])
    whole: dict[tuple, int] = {}
    for place, symbols, nbytes in later:
        expected = whole.setdefault(symbols, nbytes)
        if all(symbol in known for symbol in symbols):
            expected = sum(known[symbol] for symbol in symbols)
        if nbytes != expected:
            yield _mismatch(place, nbytes, expected)
    blocks = range(contents.blocks)
    if contents.algorithm.spec.vector and call.nbytes is not None:
        total = sum(known.get(block, 0) for block in blocks)
        if all(block in known for block in blocks) and total != call.nbytes:
            yield f"the blocks have {total} bytes together, the vector {call.nbytes}"


def _mismatch(place: tuple[int, int, int], nbytes: int, expected: int) -> str:
    rank, number, _ = place
    return (
        f"rank {rank}, round {number + 1}: it received {nbytes} bytes, where other messages with "
        f"the same blocks have {expected}"
    )
