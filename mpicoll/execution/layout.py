"""Where blocks are in memory, and how a set of them becomes a message.

A `Part` is ``(address, count, kind)``: `count` elements of a datatype from an address on. The
blocks of a buffer are parts; a chunk is a list of parts; parts that touch are merged, so that a
chunk of consecutive blocks is one message without a derived datatype.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
from mpi4py import MPI

from mpicoll.execution.datatypes import BYTES, Kind
from mpicoll.execution.message import Vector
from mpicoll.steps import Chunk, Plan, Recv, Send

__all__ = [
    "Part",
    "Specs",
    "allocate",
    "arrange_scratch",
    "listed",
    "merge",
    "nbytes_of",
    "runs_of",
    "specs_of",
    "split",
    "split_bytes",
]

Part = tuple[int, int, Kind]
Runs = list[tuple[int, int]]
#: A message as mpi4py takes it: memory, count, datatype.
Specs = list[list]

#: Messages beyond this are cut: Open MPI 5 cannot send 2**31 bytes and more.
LARGEST_MESSAGE = 1 << 30


def allocate(nbytes: int) -> tuple[np.ndarray, int]:
    """Uninitialised memory and its address, which is a multiple of 64."""
    memory = np.empty(nbytes + 63, np.uint8)
    return memory, -(-memory.ctypes.data // 64) * 64


def split(address: int, count: int, kind: Kind, blocks: int) -> list[Part]:
    """`count` elements cut into `blocks` parts, the first ones longer by one where it must be."""
    short, longer = divmod(count, blocks)
    parts, at = [], address
    for block in range(blocks):
        elements = short + (block < longer)
        parts.append((at, elements, kind))
        at += elements * kind.extent
    return parts


def split_bytes(address: int, nbytes: int, blocks: int) -> list[Part]:
    """Bytes cut into `blocks` parts.

    Cut points depend on `nbytes` and `blocks` alone: ranks may describe the same bytes by
    different datatypes. Where there is enough, they are multiples of 64 or of the item size.
    """
    unit = min(nbytes & -nbytes, 64 if nbytes >= 256 * blocks else 8) or 1
    parts, at = [], address
    for _, count, _ in split(0, nbytes // unit, BYTES, blocks):
        parts.append((at, count * unit, BYTES))
        at += count * unit
    return parts


def listed(vector: Vector) -> list[Part]:
    """One part per rank, as a vector specification gives them."""
    return [
        (vector.address + offset, count, kind)
        for count, offset, kind in zip(vector.counts, vector.offsets, vector.kinds, strict=True)
    ]


def merge(parts: Iterable[Part]) -> list[Part]:
    """The same memory in as few parts as possible, dense ones as bytes; empty ones vanish."""
    merged: list[Part] = []
    for address, count, kind in parts:
        if kind.dense:
            count, kind = count * kind.size, BYTES
        if count == 0 or kind.size == 0:
            continue
        if merged:
            start, before, last = merged[-1]
            if last is kind and start + before * kind.extent == address:
                merged[-1] = (start, before + count, kind)
                continue
        merged.append((address, count, kind))
    return merged


def nbytes_of(parts: Iterable[Part]) -> int:
    """Bytes of data in the parts, gaps not counted."""
    return sum(count * kind.size for _, count, kind in parts)


def runs_of(parts: Iterable[Part]) -> Runs | None:
    """The parts as (address, bytes) runs, or None if one of them has gaps."""
    merged = merge(parts)
    if any(not kind.dense for _, _, kind in merged):
        return None
    return [(address, count) for address, count, _ in merged]


def view(address: int, nbytes: int) -> MPI.buffer:
    """Memory by its address; the caller keeps its owner alive."""
    return MPI.buffer.fromaddress(address if nbytes else 0, nbytes)


def specs_of(parts: Iterable[Part], keep: list) -> Specs:
    """The message, or messages if it must be cut, of a list of parts.

    Datatypes made on the way are appended to `keep`, for the caller to free.
    """
    merged = merge(parts)
    if not merged:
        return [[view(0, 0), 0, MPI.BYTE]]
    if all(kind.dense for _, _, kind in merged):
        runs = [(address, count) for address, count, _ in merged]
        return [_bytes_spec(piece, keep) for piece in _cut(runs)]
    if len(merged) == 1:
        address, count, kind = merged[0]
        where = view(address, max(1, kind.span(count))) if address else MPI.BOTTOM
        return [[where, count, kind.datatype]]
    addresses, counts, kinds = zip(*merged, strict=True)
    whole = MPI.Datatype.Create_struct(counts, addresses, [kind.datatype for kind in kinds])
    keep.append(whole.Commit())
    return [[MPI.BOTTOM, 1, whole]]


def _bytes_spec(runs: Runs, keep: list) -> list:
    if len(runs) == 1:
        address, nbytes = runs[0]
        return [view(address, nbytes), nbytes, MPI.BYTE]
    addresses, lengths = zip(*runs, strict=True)
    whole = MPI.BYTE.Create_hindexed(lengths, addresses)
    keep.append(whole.Commit())
    return [MPI.BOTTOM, 1, whole]


def _cut(runs: Runs) -> Iterator[Runs]:
    """The byte stream of `runs` in pieces that MPI can carry; both ends cut at the same bytes."""
    piece: Runs = []
    room = LARGEST_MESSAGE
    for address, nbytes in runs:
        while nbytes > room:
            piece.append((address, room))
            yield piece
            address, nbytes, piece, room = address + room, nbytes - room, [], LARGEST_MESSAGE
        if nbytes:
            piece.append((address, nbytes))
            room -= nbytes
    if piece:
        yield piece


def arrange_scratch(
    plan: Plan, extent_of: Callable[[int], int]
) -> tuple[dict[tuple[int, int], int], int]:
    """Offsets of the scratch blocks of a plan, keyed by (row, block), and the bytes they need.

    Blocks that share a chunk lie together, in the order of their largest chunk. Memory is used
    again by blocks whose lives do not overlap: a ring needs two blocks of scratch, not P.
    """
    lives: dict[Chunk, list[int]] = {}
    for number, steps in enumerate(plan):
        for step in steps:
            for chunk in (step.chunk,) if isinstance(step, (Send, Recv)) else step:
                if chunk.buffer.scratch and chunk.blocks:
                    lives.setdefault(chunk, [number, number])[1] = number
    clusters = _clusters(lives)
    offsets: dict[tuple[int, int], int] = {}
    busy: list[tuple[int, int, int]] = []  # last round, offset, bytes
    total = 0
    for first, last, blocks in sorted(clusters):
        busy = [entry for entry in busy if entry[0] >= first]
        need = -(-sum(extent_of(block) for _, block in blocks) // 64) * 64
        at = _first_gap(busy, need)
        busy.append((last, at, need))
        total = max(total, at + need)
        for row, block in blocks:
            offsets[row, block] = at
            at += extent_of(block)
    return offsets, total


def _clusters(lives: dict[Chunk, list[int]]) -> list[tuple[int, int, list[tuple[int, int]]]]:
    """Chunks with common blocks, as (first round, last round, blocks in memory order)."""
    home: dict[tuple[int, int], list] = {}
    for chunk, (first, last) in sorted(lives.items(), key=lambda item: -len(item[0].blocks)):
        slots = [(chunk.buffer.number, block) for block in chunk.blocks]
        joined = [first, last, []]
        for other in {id(home[slot]): home[slot] for slot in slots if slot in home}.values():
            joined[0], joined[1] = min(joined[0], other[0]), max(joined[1], other[1])
            joined[2] += other[2]
        joined[2] += [slot for slot in slots if slot not in home]
        for slot in joined[2]:
            home[slot] = joined
    unique = {id(cluster): cluster for cluster in home.values()}.values()
    return [(first, last, blocks) for first, last, blocks in unique]


def _first_gap(busy: list[tuple[int, int, int]], need: int) -> int:
    at = 0
    for _, start, nbytes in sorted(busy, key=lambda entry: entry[1]):
        if start - at >= need:
            break
        at = max(at, start + nbytes)
    return at
