"""Reading what ranks have recorded: `mpicoll.diagnosis.record` turned into states. No MPI.

Files may come from elsewhere: they are parsed as fixed structures and JSON, and their sizes are
limited. ValueError says what is wrong with one.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mpicoll.diagnosis import record as form
from mpicoll.diagnosis.states import Collective, Message, Place, RankState

__all__ = ["RankRecord", "read_records", "states_of"]

LARGEST = 64 << 20
STATES = ("scheduled", "started", "completed", "failed")
KINDS = ("send", "recv", "probe")
ANY = -1
ROOM = form.COLLECTIVES_AT + form.COLLECTIVES * form.SLOT + form.MESSAGES * form.MESSAGE.size


@dataclass
class RankRecord:
    """What one rank has written; `inside` is (what, any_suffices, method, since in ns, numbers)."""

    rank: int
    size: int
    pid: int
    thread: int
    begun_ns: int
    host: str = ""
    collectives: list[dict] = field(default_factory=list)
    messages: dict[int, dict] = field(default_factory=dict)
    lost_messages: int = 0
    inside: tuple = (form.OUTSIDE, False, "", 0, ())
    members: dict[str, tuple[int, ...]] = field(default_factory=dict)


def read_records(directory: Path) -> list[RankRecord]:
    """The records in a directory, by rank; ValueError if there are none or one is damaged."""
    found = []
    for path in directory.glob("rank-*.record"):
        if re.fullmatch(r"rank-\d+\.record", path.name):
            found.append(_read(path))
    if not found:
        raise ValueError(f"no records (rank-N.record) in {directory}")
    return sorted(found, key=lambda record: record.rank)


def _read(path: Path) -> RankRecord:
    with path.open("rb") as file:
        data = file.read(ROOM + 1)
    if len(data) != ROOM or data[:8] != form.MAGIC:
        raise ValueError(f"{path} is not a record of this version of mpicoll")
    _, version, rank, size, pid, thread, rings, ring, begun = form.HEADER.unpack_from(data)
    if (version, rings, ring) != (form.VERSION, form.COLLECTIVES, form.MESSAGES):
        raise ValueError(f"{path} is a record of another version of mpicoll")
    record = RankRecord(rank, size, pid, thread, begun)
    names = _names(path.with_suffix(".names"), record)
    _, messages = form.COUNTS.unpack_from(data, form.COUNTS_AT)
    for slot in range(form.COLLECTIVES):
        entry = _collective(data, form.COLLECTIVES_AT + slot * form.SLOT)
        if entry is not None:
            record.collectives.append(entry)
    record.collectives.sort(key=lambda entry: entry["record_id"])
    at = form.COLLECTIVES_AT + form.COLLECTIVES * form.SLOT
    for slot in range(form.MESSAGES):
        entry = _message(data, at + slot * form.MESSAGE.size, names)
        if entry is not None:
            record.messages[entry["number"]] = entry
    record.lost_messages = max(0, messages - form.MESSAGES)
    what, any_of, method, since, count = form.INSIDE.unpack_from(data, form.INSIDE_AT)
    numbers = tuple(
        form.NUMBER.unpack_from(data, form.NUMBERS_AT + i * form.NUMBER.size)[0]
        for i in range(min(count, form.MOST_NUMBERS))
    )
    record.inside = (what, bool(any_of), names.get(method, ""), since, numbers)
    return record


def _names(path: Path, record: RankRecord) -> dict[int, str]:
    """The numbered names; what is at the end of the file may be half a line."""
    names: dict[int, str] = {}
    try:
        with path.open("rb") as file:
            text = file.read(LARGEST)
    except OSError:
        return names
    for line in text.splitlines():
        try:
            fact = json.loads(line)
            if "name" in fact:
                names[int(fact["name"])] = str(fact["text"])
            elif "communicator" in fact:
                members = tuple(int(rank) for rank in fact["members"])
                record.members[names.get(int(fact["communicator"]), "")] = members
            elif "host" in fact:
                record.host = str(fact["host"])
        except (ValueError, KeyError, TypeError):
            continue
    return names


def _collective(data: bytes, at: int) -> dict | None:
    number, state, _, created, started, completed, length = form.COLLECTIVE.unpack_from(data, at)
    if number == 0 or length > form.LONGEST:
        return None
    begin = at + form.COLLECTIVE.size
    try:
        entry = json.loads(data[begin : begin + length])
    except ValueError:
        return None  # it was just being written
    if not isinstance(entry, dict):
        return None
    return {
        "record_id": number - 1,
        **entry,
        "state": STATES[state] if state < len(STATES) else "unknown",
        "time_created_ns": created,
        "time_discovered_started_ns": started,
        "time_discovered_completed_ns": completed or None,
        "duration_ms": (completed - started) / 1e6 if completed else None,
        "retired": bool(completed),
    }


def _message(data: bytes, at: int, names: Mapping[int, str]) -> dict | None:
    fields = form.MESSAGE.unpack_from(data, at)
    number, nbytes, peer, tag, communicator, ordinal, file, line, method, kind, state = fields
    if number == 0 or kind >= len(KINDS):
        return None
    return {
        "number": number - 1,
        "kind": KINDS[kind],
        "call": names.get(method, ""),
        "peer": peer,
        "tag": tag,
        "nbytes": nbytes if nbytes >= 0 else None,
        "communicator": names.get(communicator, ""),
        "ordinal": ordinal,
        "file": names.get(file, ""),
        "line": line,
        "done": state == form.DONE,
    }


def states_of(
    records: Iterable[RankRecord],
    places: Mapping[int, Place | str] | None = None,
    status: Mapping[int, str] | None = None,
) -> list[RankState]:
    """A state for each rank; `places` and `status` are what is known otherwise."""
    records = list(records)
    received = _Received(records)
    return [
        _state(record, received, (places or {}).get(record.rank), (status or {}).get(record.rank))
        for record in records
    ]


Channel = tuple[str, int, int, int]  # communicator, from, to, tag


class _Received:
    """Which messages have been received, by their ordinals on each way."""

    def __init__(self, records: Iterable[RankRecord]) -> None:
        self._done: dict[Channel, set[int]] = defaultdict(set)
        self._forgetful = {record.rank for record in records if record.lost_messages}
        self._known = {record.rank for record in records}
        for record in records:
            for entry in record.messages.values():
                if entry["kind"] == "recv" and entry["done"]:
                    key = (entry["communicator"], entry["peer"], record.rank, entry["tag"])
                    self._done[key].add(entry["ordinal"])

    def __contains__(self, sent: tuple[Channel, int]) -> bool:
        channel, ordinal = sent
        done = self._done.get(channel, set())
        if ordinal in done or channel[2] not in self._known:
            return True
        # What a receiver has no room to remember is taken for received.
        return channel[2] in self._forgetful and ordinal < min(done, default=ordinal + 1)


def _state(
    record: RankRecord,
    received: _Received,
    place: Place | str | None,
    status: str | None,
) -> RankState:
    what, any_of, method, _, numbers = record.inside
    history = tuple(_called(entry, record.members) for entry in record.collectives)
    own = {
        entry["record_id"]: call for entry, call in zip(record.collectives, history, strict=True)
    }
    waits: tuple = ()
    if what == form.IN_MESSAGES:
        # Of several, those that are done are not waited for.
        open_ones = [record.messages[n] for n in numbers if n in record.messages]
        waits = tuple(_end(entry, place) for entry in open_ones if not entry["done"])
    elif what == form.IN_COLLECTIVE:
        waits = tuple(own[n] for n in numbers if n in own)
    inside = what in (form.IN_MESSAGES, form.IN_COLLECTIVE)
    if status in (None, "running"):
        status = {form.FINISHED: "finished", form.BROKEN: "failed"}.get(what)
        status = status or ("blocked" if inside and waits else "running")
    started = tuple(
        _end(entry)
        for entry in record.messages.values()
        if not entry["done"]
        and not (what == form.IN_MESSAGES and entry["number"] in numbers)
        # Begun sends count as messages below, if nobody has received them.
        and entry["kind"] != "send"
    )
    unreceived = tuple(
        _end(entry)
        for entry in record.messages.values()
        if entry["kind"] == "send"
        and not (what == form.IN_MESSAGES and entry["number"] in numbers)
        and entry["peer"] >= 0
        and (_channel(record.rank, entry), entry["ordinal"]) not in received
    )
    return RankState(
        record.rank,
        status,
        place,
        method if inside else "",
        waits,
        any_of,
        started,
        unreceived,
        history,
    )


def _channel(rank: int, entry: dict) -> Channel:
    return (entry["communicator"], rank, entry["peer"], entry["tag"])


def _end(entry: dict, place: Place | str | None = None) -> Message:
    where = Place(entry["file"], entry["line"]) if entry["file"] else None
    return Message(
        entry["kind"],
        None if entry["peer"] == ANY else entry["peer"],
        None if entry["tag"] == ANY else entry["tag"],
        entry["nbytes"],
        entry["communicator"],
        entry["call"],
        where,
    )


def _called(entry: dict, members: Mapping[str, tuple[int, ...]]) -> Collective:
    frames = entry.get("frames") or []
    where = None
    if frames and isinstance(frames[0], dict):
        frame = frames[0]
        where = Place(
            str(frame.get("filename", "")), int(frame.get("line", 0)), str(frame.get("name", ""))
        )
    arguments = entry.get("arguments")
    return Collective(
        str(entry.get("profiling_name", "")),
        int(entry.get("collective_seq_id", 0)),
        members.get(str(entry.get("process_group", "")), ()),
        str(entry.get("process_group", "")),
        dict(arguments) if isinstance(arguments, dict) else {},
        where,
    )
