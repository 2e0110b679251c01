"""A collective call on one rank: its arguments, checked, and where they put its blocks.

`mpicoll.execution.moving` and `mpicoll.execution.reducing` read mpi4py's arguments, one function
for each MPI operation, and return a `Call`. Everything that is wrong and visible on this rank is
refused there, before any message is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mpi4py import MPI

from mpicoll.errors import fail
from mpicoll.execution.datatypes import Kind
from mpicoll.execution.layout import (
    Part,
    listed,
    merge,
)
from mpicoll.execution.message import (
    Message,
    Vector,
    read_message,
    read_vector,
    read_vector_w,
)
from mpicoll.execution.reduction import Reduction
from mpicoll.steps import Plan

__all__ = [
    "Blocks",
    "Call",
    "Local",
    "Place",
    "cache_key",
    "check_root",
    "exchanged",
    "is_in_place",
    "refuse_in_place",
    "refuse_overlap",
    "row",
    "whole",
]

Blocks = Mapping[int, Part] | Sequence[Part]
Local = list[Callable[[], object]]


class Place(NamedTuple):
    """Where blocks are: user memory by block, the size of a scratch block, copies around it all."""

    input: Blocks
    output: Blocks
    scratch: Callable[[int], tuple[int, Kind]]
    first: Local
    last: Local


@dataclass(slots=True)
class Call:
    """One collective call on one rank.

    `place(blocks, keep)` cuts the buffers into blocks; what it allocates goes to `keep`. `nbytes`
    is m, where all ranks know it, otherwise None. `fixed` is a plan and its number of blocks, for
    collectives whose plan is not an algorithm's. `key` identifies memory, layout and operation
    for caches, and is None where one of them has no lasting identity. `buffers` are what is sent
    and what is received, as the arguments said (None in place, or for what a rank has not), and
    keep the user's memory alive. `method` is the name that the user called, such as Iallgatherv.
    `counts` are the elements of each rank in a reduce-scatter.
    """

    collective: str
    rank: int
    size: int
    place: Callable[[int, list], Place]
    buffers: tuple[Message | Vector | None, ...]
    key: tuple | None
    nbytes: int | None = None
    root: int = 0
    reduction: Reduction | None = None
    equal_blocks: bool = True
    fixed: tuple[Plan, int] | None = None
    method: str = ""
    counts: tuple[int, ...] | None = None

    @property
    def commutative(self) -> bool:
        """False if operands must be combined in rank order."""
        return self.reduction is None or self.reduction.commutative


def check_root(root: object, size: int) -> int:
    """The root as a number; raises what mpi4py and MPI raise for what is none."""
    if not hasattr(root, "__index__"):
        raise TypeError(f"root must be an integer, not {type(root).__name__}")
    root = root.__index__()
    if not 0 <= root < size:
        raise fail(MPI.ERR_ROOT, f"root must be in 0..{size - 1}, not {root}")
    return root


def is_in_place(buffer: object) -> bool:
    """True for MPI.IN_PLACE, and for None, which mpi4py takes for it."""
    return buffer is None or buffer is MPI.IN_PLACE


def refuse_in_place(buffer: object, what: str) -> None:
    """Raise ArgumentError for MPI.IN_PLACE where it has no meaning."""
    if buffer is MPI.IN_PLACE:
        raise fail(MPI.ERR_BUFFER, f"MPI.IN_PLACE cannot be {what}")


def refuse_overlap(sent: list[Part], received: list[Part]) -> None:
    """MPI forbids aliasing; for memory with gaps only the same start is taken for it."""
    for start, count, kind in merge(sent):
        for other, other_count, other_kind in merge(received):
            if kind.dense and other_kind.dense:
                overlap = start < other + other_count and other < start + count
            else:
                overlap = start + kind.true_lb == other + other_kind.true_lb
            if overlap:
                raise fail(
                    MPI.ERR_BUFFER,
                    "send and receive buffers overlap; use MPI.IN_PLACE or separate memory",
                )


def cache_key(*items: Message | Vector | Reduction | int | None) -> tuple | None:
    """A cache key, None if a derived datatype or a user's operation is among the items."""
    key: list = []
    for item in items:
        if isinstance(item, Message):
            if item.kind.handle is None:
                return None
            key += (item.address, item.count, item.kind.handle)
        elif isinstance(item, Vector):
            handles = tuple(kind.handle for kind in item.kinds)
            if None in handles:
                return None
            key += (item.address, item.counts, item.offsets, handles)
        elif isinstance(item, Reduction):
            if item.key is None:
                return None
            key.append(item.key)
        else:
            key.append(item)
    return tuple(key)


def whole(message: Message) -> Part:
    """The message as one block."""
    return (message.address, message.count, message.kind)


def row(message: Message, size: int) -> list[Part]:
    """`size` consecutive blocks of `message.count` elements each."""
    step = message.count * message.kind.extent
    return [(message.address + i * step, message.count, message.kind) for i in range(size)]


def exchanged(
    buffer: object, size: int, form: str, writable: bool
) -> tuple[Message | Vector, dict[int, Part]]:
    """One side of an all-to-all of `form` "", "v" or "w", and its blocks."""
    if form:
        read = read_vector_w if form == "w" else read_vector
        vector = read(buffer, writable=writable, blocks=size)
        return vector, dict(enumerate(listed(vector)))
    message = read_message(buffer, writable=writable, blocks=max(1, size))
    return message, dict(enumerate(row(message, size)))
