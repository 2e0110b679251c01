"""Where the time of a call went: who waited for whom, and the critical path through all ranks.

In a round a rank posts its messages and then waits. The message that comes last decides how long.
If its other end was not there yet when the rank began to wait, the rank waited for that rank until
then; the rest is the transfer. The critical path goes back from the rank that ended last: through
its local work, and wherever it waited for another rank, on through what that rank did before.
"""

from __future__ import annotations

from typing import NamedTuple

from mpicoll.trace.model import Call, Event

__all__ = ["Exchange", "Segment", "critical_path", "exchanges", "waited"]


class Exchange(NamedTuple):
    """The messages of one round of one rank: when it posted them, and when they were done.

    `late` is until when it waited for rank `cause` to be there; `late == posted` if it did not.
    """

    rank: int
    round: int
    begin: int
    posted: int
    end: int
    late: int
    cause: int


class Segment(NamedTuple):
    """A stretch of the critical path: `kind` is "local", "transfer" or "message" (to `peer`)."""

    kind: str
    rank: int
    begin: int
    end: int
    peer: int = -1


def exchanges(call: Call) -> dict[int, list[Exchange]]:
    """The exchanges of every rank of a call, in order."""
    place = {member: rank for rank, member in enumerate(call.members)}
    ends: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for message in call.messages:
        source, peer = place[message.source], place[message.peer]
        ends.setdefault((peer, message.received), []).append((message.end, message.begin, source))
        ends.setdefault((source, message.sent), []).append((message.left, message.posted, peer))
    return {rank: _of_rank(rank, call.parts[rank], ends) for rank in range(call.size)}


def _of_rank(rank: int, events: list[Event], ends: dict) -> list[Exchange]:
    rounds: dict[int, list[Event]] = {}
    for event in events:
        if event.kind in ("send", "recv"):
            rounds.setdefault(event.round, []).append(event)
    found = []
    for number, own in sorted(rounds.items()):
        begin = min(event.begin for event in own)
        posted = max(event.begin for event in own)
        end = max(event.end for event in own)
        last, ready, cause = max(ends.get((rank, number), [(end, begin, rank)]))
        # What the other end does after this one is done cannot have been waited for.
        late = min(max(posted, ready), end) if last >= end and ready <= end else posted
        found.append(Exchange(rank, number, begin, posted, end, late, cause))
    return found


def waited(call: Call) -> dict[int, int]:
    """How long each rank waited for others to be there, in nanoseconds."""
    return {
        rank: sum(each.late - each.posted for each in own) for rank, own in exchanges(call).items()
    }


def critical_path(call: Call) -> list[Segment]:
    """The path in the order of time, without a gap from the first call to the last end."""
    found = exchanges(call)
    rank = max(call.spans, key=lambda each: call.spans[each][1])
    at = call.spans[rank][1]
    path: list[Segment] = []
    while True:
        before = [each for each in found[rank] if each.end <= at]
        if not before:
            begin = min(call.spans[rank][0], at)
            path.append(Segment("local", rank, begin, at))
            return path[::-1]
        exchange = before[-1]
        if at > exchange.end:
            path.append(Segment("local", rank, exchange.end, at))
        if exchange.late > exchange.posted and exchange.cause != rank:
            path.append(Segment("message", exchange.cause, exchange.late, exchange.end, rank))
            rank, at = exchange.cause, exchange.late
        else:
            path.append(Segment("transfer", rank, exchange.begin, exchange.end))
            at = exchange.begin
