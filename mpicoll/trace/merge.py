"""Joining what the ranks have recorded: one clock, calls across ranks, messages end to end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mpicoll.trace.agree import judge
from mpicoll.trace.clock import correction
from mpicoll.trace.files import RankTrace
from mpicoll.trace.model import Call, Event, Message, Trace
from mpicoll.trace.store import CALL, KINDS, USER_RECV, USER_SEND, USER_WAIT, Record

__all__ = ["merge"]

#: Problems beyond this are counted only.
MOST_PROBLEMS = 50


def merge(
    ranks: Sequence[RankTrace], progress: Callable[[str, int, int], object] = lambda *_: None
) -> Trace:
    """One trace from those of all ranks, in rank order; calls are in the order of time."""
    clocks = [correction(rank.clock) for rank in ranks]
    # The least corrected time; a correction is monotonous, so a rank's first record decides.
    starts = [
        clock(min(record.begin for record in rank.records))
        for rank, clock in zip(ranks, clocks, strict=True)
        if rank.records
    ]
    start = min(starts, default=0)
    comms, numbers = _comms(ranks)
    calls: dict[tuple, Call] = {}
    problems = [
        f"rank {rank.rank} has not written all of its file" for rank in ranks if not rank.whole
    ]
    user: list[tuple[int, Record]] = []
    waits: list[tuple[int, int, int]] = []
    for done, (rank, clock, known) in enumerate(zip(ranks, clocks, numbers, strict=True)):
        progress(f"rank {rank.rank}", done, len(ranks))
        _collect(rank, lambda at, clock=clock: clock(at) - start, known, comms, calls, user, waits)
    ordered = sorted(calls.values(), key=lambda call: (call.begin, call.comm, call.count))
    for number, call in enumerate(ordered):
        call.number = number
        call.whole = call.whole and len(call.spans) == call.size
        if call.whole:
            _join(call)
            call.problems += judge(call)
            problems += [f"call {number}, {call.title}: {problem}" for problem in call.problems]
        progress("calls", number, len(ordered))
    messages, lost = _user_messages(user, comms)
    if len(problems) > MOST_PROBLEMS:
        problems[MOST_PROBLEMS:] = [f"and {len(problems) - MOST_PROBLEMS} more"]
    if lost:
        problems.append(f"{lost} ends of the program's own messages have no other end in the trace")
    return Trace(
        len(ranks),
        ranks[0].library,
        [rank.host for rank in ranks],
        [max((reading.error for reading in rank.clock), default=0) for rank in ranks],
        sum(len(rank.records) + rank.dropped for rank in ranks),
        [rank.dropped for rank in ranks],
        comms,
        ordered,
        messages,
        waits,
        problems,
    )


def _comms(ranks: Sequence[RankTrace]) -> tuple[list[tuple[int, ...]], list[list[int]]]:
    """All communicators, and the numbers of each rank's own in that list."""
    known: dict[tuple, int] = {}
    numbers = []
    for rank in ranks:
        keys = [(comm["members"], comm["copy"]) for comm in rank.comms]
        numbers.append([known.setdefault(key, len(known)) for key in keys])
    return [members for members, _ in known], numbers


def _collect(
    rank: RankTrace,
    clock: Callable[[int], int],
    numbers: list[int],
    comms: list[tuple[int, ...]],
    calls: dict[tuple, Call],
    user: list[tuple[int, Record]],
    waits: list[tuple[int, int, int]],
) -> None:
    """Sort one rank's records into calls."""
    parts: dict[int, list[Event]] = {}
    heads: list[tuple[Record, int, int]] = []
    for record in rank.records:
        begin, end = clock(record.begin), clock(record.end)
        if record.kind == CALL:
            heads.append((record, begin, end))
        elif record.kind == USER_WAIT:
            waits.append((rank.rank, begin, end))
        elif record.kind in (USER_SEND, USER_RECV):
            if 0 <= record.round < len(numbers):
                shared = numbers[record.round]
                user.append((rank.rank, record._replace(begin=begin, end=end, round=shared)))
        else:
            event = Event(KINDS[record.kind], begin, end, *record[5:], record.nbytes)
            parts.setdefault(record.call, []).append(event)
    for record, begin, end in heads:
        if not 0 <= record.round < len(rank.calls):
            continue  # the table of calls was full
        facts = dict(rank.calls[record.round])
        local = facts.pop("comm")
        if not 0 <= local < len(numbers) or rank.rank not in comms[numbers[local]]:
            continue
        comm = numbers[local]
        key = (comm, record.nbytes, record.step)
        call = calls.get(key)
        if call is None:
            call = calls[key] = Call(0, comm, record.nbytes, record.step, comms[comm], **facts)
        for name in ("collective", "algorithm", "parameters", "root"):
            if facts[name] != getattr(call, name):
                call.problems.append(
                    f"rank {rank.rank} has {name} {facts[name]}, another {getattr(call, name)}"
                )
        here = comms[comm].index(rank.rank)
        call.spans[here] = begin, end
        call.parts[here] = own = parts.get(record.call, [])
        call.whole &= len(own) == record.peer


def _join(call: Call) -> None:
    """Pair the sends and the receives of a call; MPI keeps their order between two ranks."""
    ends: dict[tuple[int, int], tuple[list[Event], list[Event]]] = {}
    for rank, events in call.parts.items():
        for event in events:
            if event.kind in ("send", "recv"):
                pair = (rank, event.peer) if event.kind == "send" else (event.peer, rank)
                ends.setdefault(pair, ([], []))[event.kind == "recv"].append(event)
    for (source, peer), (sent, received) in sorted(ends.items()):
        sent.sort(key=_order)
        received.sort(key=_order)
        if len(sent) != len(received):
            call.problems.append(
                f"rank {source} sent {len(sent)} messages to rank {peer}, which received "
                f"{len(received)}"
            )
        for one, other in zip(sent, received, strict=False):
            if one.nbytes != other.nbytes or one.tag not in (-1, other.tag):
                call.problems.append(
                    f"rank {source} sent {one.nbytes} bytes with tag {one.tag} in its round "
                    f"{one.round + 1}, rank {peer} received {other.nbytes} with tag {other.tag}"
                )
            call.messages.append(
                Message(
                    call.members[source],
                    call.members[peer],
                    call.number,
                    other.tag,
                    other.nbytes,
                    one.begin,
                    other.end,
                    other.begin,
                    one.end,
                    one.round,
                    other.round,
                    one.step,
                )
            )
    call.messages.sort(key=lambda message: message.begin)


def _order(event: Event) -> tuple[int, int, int]:
    return event.round, event.step, event.begin


def _user_messages(
    user: Iterable[tuple[int, Record]], comms: list[tuple[int, ...]]
) -> tuple[list[Message], int]:
    """The program's own messages, and how many ends have no partner."""
    ends: dict[tuple, tuple[list[Record], list[Record]]] = {}
    for rank, record in sorted(user, key=lambda pair: pair[1].begin):
        members = comms[record.round]
        if not 0 <= record.peer < len(members):
            continue
        other = members[record.peer]
        pair = (rank, other) if record.kind == USER_SEND else (other, rank)
        key = (record.round, *pair, record.tag)
        ends.setdefault(key, ([], []))[record.kind == USER_RECV].append(record)
    messages, lost = [], 0
    for (_, source, peer, tag), (sent, received) in ends.items():
        lost += abs(len(sent) - len(received))
        for one, other in zip(sent, received, strict=False):
            nbytes = other.nbytes if one.nbytes < 0 else one.nbytes
            messages.append(
                Message(source, peer, -1, tag, nbytes, one.begin, other.end, other.begin, one.end)
            )
    return sorted(messages, key=lambda message: message.begin), lost
