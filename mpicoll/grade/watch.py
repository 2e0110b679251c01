"""What a student's function does on one rank, written down as it does it.

One clock per rank counts beginnings and ends of operations, so that the parent can tell afterwards
what happened before what.
"""

from __future__ import annotations

import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from mpi4py import MPI

from mpicoll.grade import trace

__all__ = ["Memory", "Refused", "Watch", "memory_of"]

#: As the rank knew it before student code could replace it in the module.
_DATATYPE = MPI.Datatype


def _dtype_name(datatype: Any) -> str:
    """What NumPy calls the datatype; MPI's name if it is none of NumPy's."""
    try:
        return np.dtype(datatype.typestr).name if datatype.is_predefined else datatype.Get_name()
    except (TypeError, ValueError):
        return datatype.Get_name()


class Refused(Exception):
    """The exercise does not allow this call, or MPI does not."""


class Memory:
    """A message buffer as mpi4py reads it: its dtype, elements, and bytes where that is simple."""

    def __init__(self, buffer: Any) -> None:
        self.array, self.count, self.dtype, self.flat = None, None, "", None
        spec = list(buffer) if isinstance(buffer, list | tuple) else [buffer]
        first = spec[0] if spec else None
        if isinstance(first, np.ndarray):
            self.array = first
        elif isinstance(first, bytearray | bytes | memoryview):
            self.array = np.frombuffer(first, np.uint8)
        if self.array is None:
            return
        numbers = [x for x in spec[1:] if isinstance(x, int | np.integer)]
        pairs = [x for x in spec[1:] if isinstance(x, list | tuple)]
        given = next((x for x in spec[1:] if isinstance(x, _DATATYPE | str)), None)
        if isinstance(given, str):
            given = MPI._typedict.get(given)
        item = self.array.dtype.itemsize
        self.dtype = self.array.dtype.name
        if given is not None:
            item = given.Get_extent()[1]
            self.dtype = _dtype_name(given)
        start = 0
        if pairs and len(pairs[0]) == 2 and not isinstance(pairs[0][0], list | tuple):
            numbers, start = [int(pairs[0][0])], int(pairs[0][1] or 0)
        self.count = int(numbers[0]) if numbers else self.array.nbytes // max(item, 1)
        plain = given is None or given.is_predefined
        if plain and (self.array.flags.c_contiguous or self.array.flags.f_contiguous):
            ordered = self.array if self.array.flags.c_contiguous else self.array.T
            everything = ordered.reshape(-1).view(np.uint8)
            self.flat = everything[start * item : (start + self.count) * item]
            self.itemsize = item

    @property
    def address(self) -> int:
        """Where it begins; 0 if unknown."""
        return self.flat.__array_interface__["data"][0] if self.flat is not None else 0

    @property
    def nbytes(self) -> int | None:
        """How long it is, if known."""
        return None if self.flat is None else self.flat.nbytes

    def checksum(self) -> int:
        """Of the content."""
        return zlib.crc32(self.flat) if self.flat is not None else 0


def memory_of(buffer: Any) -> Memory:
    """Read a buffer; what cannot be read is left to mpi4py to complain about."""
    try:
        return Memory(buffer)
    except (TypeError, ValueError, IndexError, AttributeError):
        return Memory(None)


class Watch:
    """The record of one call of the function.

    `ops` are the operations, `current` the call that the rank is inside of with the numbers of
    those that it waits for. `sync`: every send waits for its receive. `light`: only counting, for
    timing. `traced`: contents of messages are kept.
    """

    def __init__(self, file: str, allowed: tuple[str, ...], forbidden: tuple[str, ...]) -> None:
        self.file, self.allowed, self.forbidden = file, allowed, forbidden
        self.begin()

    def begin(
        self,
        sync: bool = False,
        light: bool = False,
        traced: bool = False,
        wildcards: bool = True,
        pause: float = 0.0,
    ) -> None:
        """Forget the last call."""
        self.pause = pause
        self.sync, self.light, self.traced, self.wildcards = sync, light, traced, wildcards
        self.clock = 0
        self.ops: list[dict[str, Any]] = []
        self.remarks: list[dict[str, Any]] = []
        self.current: dict[str, Any] | None = None
        self.named: list[tuple[str, int, int, int]] = []
        self.kept: list[Any] = []
        self.collectives: dict[str, int] = {}

    def name_arrays(self, arrays: dict[str, Any]) -> None:
        """Let messages say which of these arrays they are from or for."""
        self.named = [
            (name, a.__array_interface__["data"][0], a.nbytes, max(a.dtype.itemsize, 1))
            for name, a in arrays.items()
            if isinstance(a, np.ndarray)
        ]

    def place(self) -> tuple[int, str]:
        """The line of the student's file that is being executed, and its function."""
        frame = sys._getframe(1)
        while frame is not None:
            if frame.f_code.co_filename == self.file:
                return frame.f_lineno, frame.f_code.co_name
            frame = frame.f_back
        return 0, ""

    def tick(self) -> int:
        """Advance the clock."""
        self.clock += 1
        return self.clock

    def remark(self, code: str, text: str) -> None:
        """Note something about the line that is being executed."""
        line, _ = self.place()
        if not any(r["code"] == code and r["line"] == line for r in self.remarks):
            self.remarks.append({"code": code, "text": text, "line": line})

    def refuse(self, code: str, text: str) -> None:
        """Note it, and raise: the call is not made."""
        self.remark(code, text)
        raise Refused(text)

    def start(self, kind: str, call: str, peer: int | None, tag: int | None, **facts: Any) -> dict:
        """Note that an operation begins."""
        if self.pause and kind == "send":
            # Others may then be a call ahead when the second of two messages leaves.
            time.sleep(self.pause)
        line, function = self.place()
        op = {"id": len(self.ops), "kind": kind, "call": call, "peer": peer, "tag": tag}
        op |= {"line": line, "function": function, "post": self.tick(), "done": None, **facts}
        self.ops.append(op)
        return op

    def describe(self, op: dict[str, Any], memory: Memory) -> None:
        """Note what an operation moves."""
        op |= {"count": memory.count, "dtype": memory.dtype, "nbytes": memory.nbytes}
        if memory.array is not None:
            op["array_dtype"] = memory.array.dtype.name
        address = memory.address
        for name, start, length, item in self.named:
            if memory.nbytes and start <= address < start + length:
                op |= {"array": name, "first": (address - start) // item}
        if self.traced and op["kind"] == "send":
            op["values"] = _values(memory)

    def done(self, op: dict[str, Any], status: Any = None, memory: Memory | None = None) -> None:
        """Note that an operation is complete."""
        op["done"] = self.tick()
        op["waited"] = self.place()[0] if op.get("immediate") else op["line"]
        if status is not None and op["kind"] == "recv":
            op["source"], op["got_tag"] = status.Get_source(), status.Get_tag()
            op["got"] = status.Get_count(MPI.BYTE)
        if self.traced and memory is not None and op["kind"] == "recv":
            op["values"] = _values(memory, op.get("got"))

    @contextmanager
    def inside(self, call: str, ops: list[dict[str, Any]], any_suffices: bool = False) -> Iterator:
        """While the rank waits inside a call."""
        line, function = self.place()
        self.current = {"call": call, "line": line, "function": function, "any": any_suffices}
        self.current["ops"] = [op["id"] for op in ops]
        try:
            yield
        except BaseException:
            for op in ops:
                op["failed"] = True
            raise
        finally:
            self.current = None

    def shadow(self, memory: Memory) -> Any:
        """Memory to receive into until the wait, while the student's own is poisoned."""
        if memory.flat is None or self.light or not memory.flat.flags.writeable:
            return None
        saved = memory.flat.copy()
        if memory.array is not None and memory.flat.nbytes:
            typed = memory.flat[: memory.flat.nbytes]
            try:
                trace.fill(typed.view(memory.array.dtype), trace.POISON)
            except (ValueError, TypeError):
                typed[:] = 0xA5
        return saved, memory.checksum(), np.empty_like(saved)


def _values(memory: Memory, nbytes: int | None = None) -> Any:
    if memory.flat is None or memory.flat.nbytes % 8 or memory.dtype != "float64":
        return None
    if memory.flat.nbytes > 4096:
        return None
    flat = memory.flat if nbytes is None else memory.flat[: nbytes - nbytes % 8]
    return flat.view(np.float64).copy()
