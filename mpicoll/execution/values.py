"""Objects on their way: packed by pickle, with large buffers beside the pickle instead of in it.

A packed value is a list of segments: the pickle, and the out-of-band buffers that it refers to
(protocol 5). Algorithms move packed values: a rank that only passes an object on never unpickles
it, and every rank that uses it makes its own.
"""

from __future__ import annotations

import traceback
from array import array
from collections.abc import Iterator, Sequence

import numpy as np
from mpi4py import MPI

__all__ = ["Made", "Packed", "Value", "clone", "cut", "failure", "join", "pack", "unpack"]

WORD = 8


class Packed:
    """A value as segments of memory, which nobody changes while it is in a plan's memory.

    `owned`: the buffers are nobody else's, so the last reader may build its object on them.
    `failed`: it is not a value but the account of what went wrong where it should have been made.
    """

    __slots__ = ("failed", "owned", "segments")

    def __init__(self, segments: Sequence, owned: bool, failed: bool = False) -> None:
        self.segments, self.owned, self.failed = segments, owned, failed

    def shared(self) -> Packed:
        """The same value for a second holder: neither may build on its buffers."""
        return Packed(self.segments, False, self.failed)


class Made:
    """An object that an operation has just made, and its packed form once it has been sent."""

    __slots__ = ("_packed", "value")

    failed = False

    def __init__(self, value: object) -> None:
        self.value = value
        self._packed: Packed | None = None

    def packed(self) -> Packed:
        """The packed form; it refers to the object's memory."""
        if self._packed is None:
            self._packed = pack(self.value)
        return self._packed


#: What a block holds; None is a block without content.
Value = Packed | Made | None


def pack(value: object) -> Packed:
    """Pickle an object by `MPI.pickle`; large buffers are referred to, not copied."""
    if MPI.pickle.PROTOCOL is None:
        # The user's own serializer, which may not know about buffers.
        return Packed((MPI.pickle.dumps(value),), False)
    data, buffers = MPI.pickle.dumps_oob(value)
    return Packed((data, *buffers), False)


def unpack(packed: Packed, last: bool) -> object:
    """A new object; only the `last` reader may get one that lives in the packed buffers."""
    data, *buffers = packed.segments
    if not buffers:
        return MPI.pickle.loads(data)
    if not (last and packed.owned):
        buffers = [np.array(np.frombuffer(buffer, np.uint8)) for buffer in buffers]
    return MPI.pickle.loads_oob(data, buffers)


def clone(value: Packed | Made) -> object:
    """A new object that shares no memory with the value."""
    return unpack(value.packed() if isinstance(value, Made) else value, last=False)


def failure(rank: int, error: Exception) -> Packed:
    """What travels in the place of a value that `rank` could not make."""
    account = (rank, "".join(traceback.format_exception(error)))
    return Packed((MPI.pickle.dumps(account),), False, failed=True)


def cut(packed: Packed, pieces: int) -> list[Packed | None]:
    """The value as a stream of bytes, cut into pieces of about equal size."""
    if pieces == 1 or packed.failed:
        return [packed] * pieces
    lengths = [len(memoryview(segment)) for segment in packed.segments]
    head = array("q", [len(lengths), *lengths]).tobytes()
    stream = [memoryview(segment) for segment in (head, *packed.segments)]
    # Arrays are cut between their elements.
    step = -(-(len(head) + sum(lengths)) // (64 * pieces)) * 64
    parts: list[Packed | None] = [
        Packed(part, False) if part else None for part in _chopped(stream, step)
    ]
    return parts + [None] * (pieces - len(parts))


def _chopped(stream: list[memoryview], step: int) -> Iterator[list[memoryview]]:
    part, room = [], step
    for view in stream:
        while len(view):
            part.append(view[:room])
            room -= len(part[-1])
            view = view[len(part[-1]) :]
            if not room:
                yield part
                part, room = [], step
    if part:
        yield part


def join(pieces: Sequence[Packed | None]) -> Packed | None:
    """What `cut` was given."""
    if len(pieces) == 1:
        return pieces[0]
    present = [piece for piece in pieces if piece is not None]
    for piece in present:
        if piece.failed:
            return piece
    stream = [memoryview(segment) for piece in present for segment in piece.segments]
    stream.reverse()
    count = int(_taken(stream, WORD).view("q")[0])
    lengths = _taken(stream, WORD * count).view("q").tolist()
    return Packed([_taken(stream, length) for length in lengths], owned=True)


def _taken(stream: list[memoryview], nbytes: int) -> np.ndarray:
    """The next bytes of a reversed stream, in memory of their own, where arrays are aligned."""
    taken = np.empty(nbytes, np.uint8)
    filled = 0
    while filled < nbytes:
        view = stream.pop()
        now = min(len(view), nbytes - filled)
        taken[filled : filled + now] = view[:now]
        filled += now
        if now < len(view):
            stream.append(view[now:])
    return taken
