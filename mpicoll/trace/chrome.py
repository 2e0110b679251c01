"""A trace in the trace-event format of Chromium, which ui.perfetto.dev and chrome://tracing open.

Every rank is a process with tracks: its calls with their rounds and local steps inside, and the
messages that it sends and receives. Slices of one track nest, so what overlaps without nesting goes
to further tracks. A message is an arrow (a flow) from the sender's slice to the receiver's. The
format is described in "Trace Event Format" (Duca & Sinclair, 2016); times are microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mpicoll.trace.model import Call, Message, Trace
from mpicoll.trace.path import exchanges

__all__ = ["chrome_events"]

#: Tracks of a rank: a hundred numbers for each kind, for those that are needed side by side.
TRACKS = {"collectives": 0, "sends": 100, "receives": 200, "own sends": 300, "own receives": 400}


class Slice(NamedTuple):
    """A stretch of time of a rank, with those inside it."""

    begin: int
    end: int
    name: str
    arguments: dict[str, object]
    inside: tuple[Slice, ...] = ()
    flow: tuple[str, int] | None = None


def chrome_events(trace: Trace) -> dict[str, object]:
    """The object to be written as JSON."""
    tracks: dict[tuple[int, str], list[Slice]] = {}
    number = 0
    for call in trace.calls:
        if not call.whole:
            continue
        for rank, member in enumerate(call.members):
            tracks.setdefault((member, "collectives"), []).append(_call(call, rank))
        for message in call.messages:
            _ends(tracks, message, number, f"{call.collective} {call.number}", "sends", "receives")
            number += 1
    for message in trace.messages:
        _ends(tracks, message, number, "message", "own sends", "own receives")
        number += 1
    events: list[dict[str, object]] = []
    for rank in range(trace.size):
        events.append(_name("process_name", rank, 0, f"rank {rank} ({trace.hosts[rank]})"))
        events.append(_name("process_sort_index", rank, 0, rank))
    for (rank, kind), slices in sorted(tracks.items()):
        for lane, members in enumerate(_lanes(slices)):
            thread = TRACKS[kind] + min(lane, 99)
            label = f"{kind} {lane + 1}" if lane else kind
            events.append(_name("thread_name", rank, thread, label))
            events.append(_name("thread_sort_index", rank, thread, thread))
            for slice_ in members:
                events += _events(slice_, rank, thread)
    return {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {"library": trace.library, "dropped records": sum(trace.dropped)},
    }


def _name(what: str, rank: int, thread: int, value: object) -> dict[str, object]:
    key = "sort_index" if what.endswith("index") else "name"
    return {"ph": "M", "name": what, "pid": rank, "tid": thread, "args": {key: value}}


def _call(call: Call, rank: int) -> Slice:
    begin, end = call.spans[rank]
    local = [
        Slice(part.begin, part.end, part.kind, {"round": part.round + 1})
        for part in call.parts[rank]
        if part.kind in ("copy", "reduce")
    ]
    rounds = [
        Slice(
            each.begin,
            each.end,
            f"round {each.round + 1}",
            {"waited for rank": each.cause} if each.late > each.posted else {},
            (Slice(each.posted, each.late, "waiting", {"for rank": each.cause}),)
            if each.late > each.posted
            else (),
        )
        for each in exchanges(call)[rank]
    ]
    facts = {"algorithm": call.algorithm, "number": call.number, "form": call.form}
    facts |= {"bytes": call.nbytes, "where": call.where, "ranks": list(call.members)}
    inside = sorted((*rounds, *local), key=lambda part: part.begin)
    return Slice(begin, end, f"{call.collective} {call.algorithm}", facts, tuple(inside))


def _ends(
    tracks: dict, message: Message, number: int, name: str, sends: str, receives: str
) -> None:
    facts = {"bytes": message.nbytes, "tag": message.tag}
    left = max(message.left, message.begin)
    sent = Slice(message.begin, left, f"{name} to {message.peer}", facts, flow=("s", number))
    received = Slice(
        message.posted, message.end, f"{name} from {message.source}", facts, flow=("f", number)
    )
    tracks.setdefault((message.source, sends), []).append(sent)
    tracks.setdefault((message.peer, receives), []).append(received)


def _lanes(slices: Iterable[Slice]) -> list[list[Slice]]:
    """Slices on as few tracks as keep those of each track apart."""
    lanes: list[list[Slice]] = []
    for slice_ in sorted(slices, key=lambda each: (each.begin, each.end)):
        for lane in lanes:
            if lane[-1].end <= slice_.begin:
                lane.append(slice_)
                break
        else:
            lanes.append([slice_])
    return lanes


def _events(slice_: Slice, rank: int, thread: int) -> Iterator[dict[str, object]]:
    place = {"pid": rank, "tid": thread, "cat": "mpicoll"}
    begin, end = slice_.begin / 1000, slice_.end / 1000
    yield {
        "ph": "X",
        "name": slice_.name,
        "ts": begin,
        "dur": end - begin,
        **place,
        "args": slice_.arguments,
    }
    if slice_.flow is not None:
        phase, number = slice_.flow
        # An arrow leaves where a slice begins, and arrives where one ends.
        flow = {"ph": phase, "id": number, "name": "message", "ts": begin if phase == "s" else end}
        yield {**flow, **place, **({"bp": "e"} if phase == "f" else {})}
    for part in slice_.inside:
        yield from _events(part, rank, thread)
