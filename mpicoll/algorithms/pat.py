"""Phases of parallel aggregated trees: every block has a binomial tree, far hops first.

A rank is at *offset* o in the tree of the block of rank r - o. All ranks do the same hop in the
same round, so a round is a list of hops (offset, distance): who is at that offset of a block hands
it to the rank at that distance.
"""

from __future__ import annotations

from collections.abc import Iterator

from mpicoll.steps import Buffer, Copy, Recv, Reduce, Send, Temp
from mpicoll.topology import ceil_log2, floor_log2

__all__ = ["far_first_hops", "pat_allgather", "pat_hops", "pat_reduce_scatter"]


def far_first_hops(size: int) -> list[list[tuple[int, int]]]:
    """The hops of a round each: the distance halves, the number of holders doubles.

    >>> far_first_hops(6)
    [[(0, 4)], [(0, 2)], [(0, 1), (2, 1), (4, 1)]]
    """
    rounds = []
    for bit in reversed(range(ceil_log2(size))):
        distance = 1 << bit
        holders = range(0, size - distance, 2 * distance)
        rounds.append([(offset, distance) for offset in holders])
    return rounds


def pat_hops(size: int, aggregate: int) -> list[list[tuple[int, int]]]:
    """Hops with at most `aggregate` blocks in a round.

    Far hops first until there are that many holders of each block; each of them then serves the
    ranks near it depth first, all of them at once, so that few blocks are under way at any time.

    >>> pat_hops(8, 2)
    [[(0, 4)], [(0, 2), (4, 2)], [(2, 1), (6, 1)], [(0, 1), (4, 1)]]
    """
    bits = ceil_log2(size)
    far = min(floor_log2(aggregate), bits)
    rounds = far_first_hops(size)[:far]
    span = 1 << (bits - far)
    holders = range(0, size, span)

    def serve(offset: int, bit: int) -> None:
        for near in reversed(range(bit)):
            distance = 1 << near
            hops = [(t + offset, distance) for t in holders if t + offset + distance < size]
            if hops:
                rounds.append(hops)
            serve(offset + distance, near)

    serve(0, bits - far)
    return rounds


def pat_allgather(
    rank: int, size: int, buffer: Buffer, rounds: list[list[tuple[int, int]]]
) -> Iterator:
    """Every block goes down its tree, all trees at once; rank r starts with block r of `buffer`."""
    for hops in rounds:
        distance = hops[0][1]
        to, source = (rank + distance) % size, (rank - distance) % size
        yield (
            Send(to, buffer[[(rank - offset) % size for offset, _ in hops]]),
            Recv(source, buffer[[(source - offset) % size for offset, _ in hops]]),
        )


def pat_reduce_scatter(
    rank: int,
    size: int,
    source: Buffer,
    partial: Buffer,
    result: Buffer,
    rounds: list[list[tuple[int, int]]],
) -> Iterator:
    """The way back: every block is combined up its tree, to the rank that owns it.

    `source` and `result` may be one memory, `partial` not, nor may it be Temp.
    """
    if size == 1:
        yield Copy(source[0], result[0])
    begun: set[int] = set()
    last = {offset: number for number, hops in enumerate(rounds[::-1]) for offset, _ in hops}
    for number, hops in enumerate(rounds[::-1]):
        distance = hops[0][1]
        down, up = (rank + distance) % size, (rank - distance) % size
        offsets = [offset for offset, _ in hops]
        mine = [(rank - offset) % size for offset in offsets]
        handed = [offset + distance for offset in offsets]
        held = partial if begun.intersection(handed) else source
        alone = [(rank - o) % size for o in handed if o not in begun and held is partial]
        if alone:  # nothing was combined with these, but they go in one message with the others
            yield Copy(source[alone], partial[alone])
        steps: list = [Send(up, held[[(rank - o) % size for o in handed]]), Recv(down, Temp[mine])]
        for offset, block in zip(offsets, mine, strict=True):
            held = partial if offset in begun else source
            into = result if offset == 0 and last[0] == number else partial
            steps.append(Reduce(held[block], Temp[block], into=into[block]))
        begun.update(offsets)
        yield tuple(steps)
