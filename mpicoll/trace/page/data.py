"""What the page needs to know of a trace."""

from __future__ import annotations

from collections.abc import Sequence

from mpicoll.analysis.findings import letters, spell
from mpicoll.trace.model import Call, Trace
from mpicoll.trace.path import critical_path, exchanges, waited
from mpicoll.trace.text import cell, heading, rows

__all__ = ["MOST_CALLS", "MOST_RANKS_IN_FULL", "page_data"]

#: Beyond these the page would be too long to load, or too full to read.
MOST_CALLS, MOST_MESSAGES, MOST_RANKS_IN_FULL = 200, 40_000, 16


def page_data(trace: Trace, calls: Sequence[Call]) -> dict[str, object]:
    """The data of the page; calls that are not whole, or too many, are counted only."""
    shown, messages = [], 0
    for call in calls:
        if call.whole and len(shown) < MOST_CALLS and messages < MOST_MESSAGES:
            shown.append(call)
            messages += len(call.messages)
    if not shown:
        raise ValueError("there is no whole call to show")
    return {
        "title": heading(shown[0]) if len(shown) == 1 else f"{len(calls)} collectives",
        "library": trace.library,
        "hosts": len(set(trace.hosts)),
        "left_out": len(calls) - len(shown),
        "dropped": sum(trace.dropped),
        "problems": trace.problems,
        "calls": [_call(call) for call in shown],
    }


def _call(call: Call) -> dict[str, object]:
    start = call.begin
    late = waited(call)
    data: dict[str, object] = {
        "title": call.title,
        "about": ", ".join(filter(None, [call.dtype, call.op, call.form, call.where])),
        "members": list(call.members),
        "letters": [letters(rank) for rank in range(call.size)],
        "seconds": (call.end - start) * 1e-9,
        "spans": [[call.spans[r][0] - start, call.spans[r][1] - start] for r in range(call.size)],
        "waited": [late[rank] for rank in range(call.size)],
        "lanes": _lanes(call),
        "path": [
            [s.kind, s.rank, s.begin - start, s.end - start, s.peer] for s in critical_path(call)
        ],
        "problems": call.problems,
    }
    place = {member: rank for rank, member in enumerate(call.members)}
    contents = call.contents
    at: dict[tuple[int, int, int], int] = {}
    if contents is not None:
        for meeting in contents.schedule.meetings:
            at[(meeting.source, *meeting.sent)] = meeting.at
    # Objects number the messages of a round by themselves; where there are several, by order.
    by_round = {(source, number): step for (source, number, _), step in at.items()}
    data["messages"] = [
        [
            place[m.source],
            place[m.peer],
            m.begin - start,
            m.end - start,
            m.nbytes,
            at.get((place[m.source], m.sent, m.step), by_round.get((place[m.source], m.sent), -1)),
            _carried(call, place[m.source], m.sent, m.step),
        ]
        for m in call.messages
    ]
    if contents is None or call.size > MOST_RANKS_IN_FULL:
        return data
    final = contents.schedule.steps
    data["steps"] = final
    data["phases"] = list(contents.phases)
    data["reduces"] = contents.algorithm.spec.reduces
    data["lines"] = [{str(r): text for r, text in step.items()} for step in rows(call)]
    data["rows"] = [
        [
            [
                None
                if held is None
                else [
                    cell(contents, held),
                    spell(held[0], held[1]),
                    contents.state(rank, block, held, step == final),
                    len(set(held[1])),
                ]
                for block, held in enumerate(row)
            ]
            for step, row in enumerate(contents.rows(rank))
        ]
        for rank in range(call.size)
    ]
    return data


def _carried(call: Call, rank: int, round: int, step: int) -> str:
    """The values of a message in the notation of the lecture."""
    contents = call.contents
    if contents is None or call.form == "objects":
        return ""
    values = contents.carried(rank, round, step)
    text = " ".join(spell(*value[:2]) for value in values[:4])
    return text + (" ..." if len(values) > 4 else "")


def _lanes(call: Call) -> list[list[list]]:
    """For every rank, stretches of time as [kind, begin, end]: post, wait, transfer, local."""
    start = call.begin
    found = exchanges(call)
    lanes = []
    for rank in range(call.size):
        lane = []
        for each in found[rank]:
            for kind, begin, end in (
                ("post", each.begin, each.posted),
                ("wait", each.posted, each.late),
                ("transfer", each.late, each.end),
            ):
                if end > begin:
                    lane.append([kind, begin - start, end - start])
        lane += [
            ["local", event.begin - start, event.end - start]
            for event in call.parts[rank]
            if event.kind in ("copy", "reduce")
        ]
        lanes.append(sorted(lane, key=lambda stretch: stretch[1]))
    return lanes
