"""Which messages of a plan belong together, and in which step of the whole each of them comes.

Rounds are a rank's own: the second round of one rank may meet the first of another. A *step* of the
whole is counted in the longest chain of rounds that wait for each other: a message comes in the
step in which the later of its two rounds begins, a round is complete in the step of its last
message, and the next one begins in the step after that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from mpicoll.steps import Plan, Recv, Send

__all__ = ["Meeting", "Schedule", "schedule_of"]


class Meeting(NamedTuple):
    """A message of the plans: both ends as (rank, round, number of the step in it), and when."""

    source: int
    sent: tuple[int, int]
    peer: int
    received: tuple[int, int]
    at: int


class Schedule(NamedTuple):
    """All messages, and the step of the whole in which each rank's rounds are complete.

    `ends[rank][round]` is -1 for local steps before the first message.
    """

    meetings: tuple[Meeting, ...]
    ends: tuple[tuple[int, ...], ...]
    steps: int


def schedule_of(plans: Sequence[Plan]) -> Schedule:
    """The schedule of plans that come to their end; what never meets is left out."""
    ends: list[list[int]] = [[] for _ in plans]
    begin = [0] * len(plans)
    open_ = [0] * len(plans)
    last = [0] * len(plans)
    waiting: dict[tuple[int, int, bool], deque[tuple[int, int]]] = {}
    meetings: list[Meeting] = []
    ready = deque(range(len(plans)))

    def meet(rank: int, peer: int, sends: bool, place: tuple[int, int]) -> None:
        source, target = (rank, peer) if sends else (peer, rank)
        others = waiting.get((source, target, not sends))
        if not others:
            waiting.setdefault((source, target, sends), deque()).append(place)
            return
        other = others.popleft()
        at = max(begin[rank], begin[peer])
        sent, received = (place, other) if sends else (other, place)
        meetings.append(Meeting(source, sent, target, received, at))
        for each in (rank, peer):
            last[each] = max(last[each], at)
            open_[each] -= 1
            if not open_[each] and each != rank:
                finish(each)
                ready.append(each)

    def finish(rank: int) -> None:
        ends[rank].append(last[rank])
        begin[rank] = last[rank] + 1

    while ready:
        rank = ready.popleft()
        while len(ends[rank]) < len(plans[rank]):
            number = len(ends[rank])
            messages = [
                (index, step)
                for index, step in enumerate(plans[rank][number])
                if isinstance(step, (Send, Recv))
            ]
            open_[rank] = len(messages)
            last[rank] = begin[rank] if messages else begin[rank] - 1
            for index, step in messages:
                meet(rank, step.peer, isinstance(step, Send), (number, index))
            if open_[rank]:
                break
            finish(rank)
    steps = max((meeting.at for meeting in meetings), default=-1) + 1
    meetings.sort(key=lambda meeting: (meeting.at, meeting.source, meeting.sent))
    return Schedule(tuple(meetings), tuple(map(tuple, ends)), steps)
