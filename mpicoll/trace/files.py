"""The files of a trace: one per rank, JSON lines, read back with care.

The first line says what the file is, then come the communicators and the calls that records refer
to, then the records as lists of numbers (see `mpicoll.trace.store.Record`), and a line at the end.
A file may come from another machine: it is read as JSON only, its length is limited, and what does
not belong there is an error that names the line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mpicoll.trace.clock import Reading
from mpicoll.trace.store import KINDS, Record, Store

__all__ = ["RankTrace", "TraceError", "read_directory", "read_rank", "write_rank"]

FORMAT, VERSION = "mpicoll trace", 1
#: Limits for what is read: bytes of a file, and characters of a line.
MOST_BYTES, MOST_CHARACTERS = 4 << 30, 1 << 20
#: What a call's entry says, in this order.
ENTRY = (
    "comm",
    "collective",
    "method",
    "form",
    "algorithm",
    "parameters",
    "root",
    "nbytes",
    "dtype",
    "op",
    "where",
)


class TraceError(ValueError):
    """A file is not the trace that it should be."""


@dataclass
class RankTrace:
    """What one rank wrote."""

    rank: int
    size: int
    host: str
    library: str
    capacity: int
    dropped: int = 0
    clock: list[Reading] = field(default_factory=list)
    comms: list[dict] = field(default_factory=list)
    calls: list[dict] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    whole: bool = False


def write_rank(path: Path, trace: RankTrace, store: Store) -> None:
    """Write what a rank has recorded; the file appears under its name when it is complete."""
    head = {"format": FORMAT, "version": VERSION, "rank": trace.rank, "size": trace.size}
    head |= {"host": trace.host, "library": trace.library, "capacity": store.capacity}
    store.close()
    new = path.with_suffix(".new")
    with open(new, "w", encoding="utf-8") as file:
        print(_line(head), file=file)
        for comm in trace.comms:
            print(_line({"comm": comm}), file=file)
        for entry in store.entries:
            print(_line({"call": dict(zip(ENTRY, entry, strict=True))}), file=file)
        base = None
        for record in store.records():
            if base is None:
                base = record.begin
                print(_line({"base": base}), file=file)
            begin, end, *rest = record
            print(_line([begin - base, end - begin, *rest]), file=file)
        end = {"dropped": store.dropped, "written": store.written, "clock": trace.clock}
        print(_line({"end": end}), file=file)
    new.replace(path)


def _line(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def read_directory(directory: Path) -> list[RankTrace]:
    """The files of all ranks, in rank order; TraceError if one is missing or does not fit."""
    paths = sorted(directory.glob("rank-*.jsonl"))
    if not paths:
        raise TraceError(f"{directory} has no trace: there is no file rank-0.jsonl")
    ranks = sorted((read_rank(path) for path in paths), key=lambda trace: trace.rank)
    size = ranks[0].size
    missing = sorted(set(range(size)) - {trace.rank for trace in ranks})
    if missing:
        raise TraceError(f"{directory}: rank {missing[0]} of {size} has left no file")
    if [trace.rank for trace in ranks] != list(range(size)) or {t.size for t in ranks} != {size}:
        raise TraceError(f"{directory} has files of different runs")
    return ranks


def read_rank(path: Path) -> RankTrace:
    """Read one file; TraceError names the line that is wrong."""
    if path.stat().st_size > MOST_BYTES:
        raise TraceError(f"{path.name} has more than {MOST_BYTES} bytes")
    lines = _lines(path)
    number, head = next(lines, (1, None))
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise TraceError(f"{path.name} is not a trace of mpicoll's")
    if head.get("version") != VERSION:
        raise TraceError(f"{path.name} is of version {head.get('version')!r}, not {VERSION}")
    try:
        trace = RankTrace(
            _count(head["rank"]),
            _count(head["size"]),
            str(head["host"])[:200],
            str(head["library"])[:200],
            _count(head["capacity"]),
        )
        base = 0
        for number, value in lines:  # noqa: B007  (for the message below)
            if isinstance(value, list):
                trace.records.append(_record(value, base))
            elif "base" in value:
                base = _integer(value["base"])
            elif "comm" in value:
                trace.comms.append(_comm(value["comm"], trace.size))
            elif "call" in value:
                trace.calls.append(_call(value["call"]))
            elif "end" in value:
                trace.dropped = _count(value["end"]["dropped"])
                trace.clock = [Reading(*map(_integer, each)) for each in value["end"]["clock"][:9]]
                trace.whole = True
            else:
                raise ValueError("nothing that a trace has")
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise TraceError(f"{path.name}, line {number}: {error}") from None
    return trace


def _lines(path: Path) -> Iterator[tuple[int, object]]:
    with open(path, encoding="utf-8", errors="replace") as file:
        for number in range(1, 1 << 40):
            text = file.readline(MOST_CHARACTERS + 1)
            if not text:
                return
            if len(text) > MOST_CHARACTERS:
                raise TraceError(f"{path.name}, line {number}: too long")
            try:
                value = json.loads(text)
            except (ValueError, RecursionError) as error:
                raise TraceError(f"{path.name}, line {number}: not JSON ({error})") from None
            if not isinstance(value, (dict, list)):
                raise TraceError(f"{path.name}, line {number}: neither an object nor a record")
            yield number, value


def _integer(value: object) -> int:
    if type(value) is not int or not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"expected an integer, not {value!r}")
    return value


def _count(value: object) -> int:
    if _integer(value) < 0:
        raise ValueError(f"expected a number from 0 on, not {value!r}")
    return value


def _record(value: list, base: int) -> Record:
    if len(value) != len(Record._fields) or not all(type(part) is int for part in value):
        raise ValueError("not a record: nine integers were expected")
    begin, length, *rest = value
    record = Record(base + begin, base + begin + length, *rest)
    if length < 0 or not 0 <= record.kind < len(KINDS):
        raise ValueError("a record of no known kind, or that ends before it begins")
    return record


def _comm(value: dict, size: int) -> dict:
    members = [_count(rank) for rank in value["members"]]
    if not members or max(members) >= size or len(set(members)) != len(members):
        raise ValueError("a communicator of ranks that there are not")
    return {"members": tuple(members), "copy": _count(value["copy"])}


def _call(value: dict) -> dict:
    call = {name: value[name] for name in ENTRY}
    _integer(call["comm"]), _integer(call["root"])
    if call["nbytes"] is not None:
        _count(call["nbytes"])
    for name in ("collective", "method", "form", "algorithm", "dtype", "op", "where"):
        if not isinstance(call[name], str) or len(call[name]) > 1000:
            raise ValueError(f"{name} is not a short text")
    call["parameters"] = {
        str(name): tuple(map(_integer, each)) if isinstance(each, list) else _simple(each)
        for name, each in call["parameters"]
    }
    return call


def _simple(value: object) -> object:
    if value is not None and not isinstance(value, (int, str, bool)):
        raise ValueError(f"expected a parameter, not {value!r}")
    return value
