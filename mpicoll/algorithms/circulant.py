"""Phases on circulant graphs: optimal in rounds and traffic for any number of ranks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from mpicoll.circulant import circulant_receives, circulant_skips
from mpicoll.steps import Buffer, Copy, Recv, Reduce, Send, Temp, wrap

__all__ = [
    "circulant_allgather",
    "circulant_bcast",
    "circulant_reduce",
    "circulant_reduce_scatter",
]


def circulant_reduce_scatter(
    rank: int, size: int, source: Buffer, partial: Buffer, result: Buffer
) -> Iterator:
    """The far half of what a rank cares for goes that far ahead, and is combined there.

    Rank r cares for the blocks from r on: at first all, at the end only its own, complete in
    `result`. `source` and `result` may be one memory, `partial` not, nor may it be Temp.
    """
    if size == 1:
        yield Copy(source[0], result[0])
    held, left = source, size
    for skip in reversed(circulant_skips(size)):
        near, far = wrap(rank, left - skip, size), wrap(rank + skip, left - skip, size)
        into = result if skip == 1 else partial
        steps = [
            Send((rank + skip) % size, held[far]),
            Recv((rank - skip) % size, Temp[near]),
            Reduce(Temp[near], held[near], into=into[near]),
        ]
        if held is source and len(near) < skip:  # an odd number: one block has no other half
            middle = (rank + skip - 1) % size
            steps.append(Copy(source[middle], partial[middle]))
        yield tuple(steps)
        held, left = partial, skip


def circulant_allgather(rank: int, size: int, buffer: Buffer) -> Iterator:
    """The way back: as many blocks as a rank has, or as are missing, go as many ranks back.

    Rank r starts with block r and collects the blocks after it.
    """
    for skip, have in pairwise([*circulant_skips(size), size]):
        yield (
            Send((rank - skip) % size, buffer[wrap(rank, have - skip, size)]),
            Recv((rank + skip) % size, buffer[wrap(rank + skip, have - skip, size)]),
        )


def circulant_bcast(rank: int, size: int, root: int, segments: int, buffer: Buffer) -> Iterator:
    """In every round everybody sends one block ahead over the next skip, and none of it in vain.

    The root sends the blocks in order, a new one in each round; every other rank gets each block
    exactly once. n - 1 + q rounds for n blocks, which is as few as can be.
    """
    for to, sent, source, received in _schedule(rank, size, root, segments):
        steps = []
        if sent is not None:
            steps.append(Send(to, buffer[sent]))
        if received is not None:
            steps.append(Recv(source, buffer[received]))
        yield tuple(steps)


def circulant_reduce(
    rank: int, size: int, root: int, segments: int, source: Buffer, result: Buffer
) -> Iterator:
    """The broadcast backwards: where a block came from, the combination of it goes.

    A rank has combined all that it ever hands out before it sends the block back, once.
    """
    if size == 1:
        yield Copy(source[:], result[:])
    total = result if rank == root else Temp.row(1)
    begun: set[int] = set()
    for to, sent, origin, received in reversed(list(_schedule(rank, size, root, segments))):
        steps = []
        if received is not None:
            steps.append(Send(origin, (total if received in begun else source)[received]))
        if sent is not None:
            held = total if sent in begun else source
            steps.append(Recv(to, Temp[sent]))
            steps.append(Reduce(held[sent], Temp[sent], into=total[sent]))
            begun.add(sent)
        yield tuple(steps)


def _schedule(
    rank: int, size: int, root: int, segments: int
) -> Iterator[tuple[int, int | None, int, int | None]]:
    """For each round: where to send which block, and whence to receive which (None: nothing)."""
    skips = circulant_skips(size)
    rounds, relative = len(skips), (rank - root) % size
    if not rounds:
        return
    receives = circulant_receives(relative, size)
    first = (1 - segments) % rounds  # so that the last phase is a whole one

    def block(number: int, phase: int) -> int | None:
        number += phase * rounds - first
        return min(number, segments - 1) if number >= 0 else None

    for phase, k in (divmod(i, rounds) for i in range(first, first + segments - 1 + rounds)):
        ahead = (relative + skips[k]) % size
        sent = block(circulant_receives(ahead, size)[k], phase) if ahead else None
        received = block(receives[k], phase) if relative else None
        yield (ahead + root) % size, sent, (rank - skips[k]) % size, received
