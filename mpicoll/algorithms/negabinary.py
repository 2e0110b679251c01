"""Phases with partners at distances 1, 1, 3, 5, 11, 21, ...: two thirds of the way of doubling.

The distances are those of numbers in base -2, so partners are alternately ahead and behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mpicoll.steps import Buffer, Recv, Reduce, Send, Temp
from mpicoll.topology import floor_log2, negabinary_peer

__all__ = ["negabinary_allreduce", "reach", "runs"]


def reach(rank: int, step: int, size: int) -> list[int]:
    """The ranks that a rank can reach by the steps from `step` on, itself included.

    >>> reach(0, 1, 8), reach(1, 1, 8)
    ([0, 3, 4, 7], [1, 2, 5, 6])
    """
    reached = [rank]
    for later in reversed(range(step, floor_log2(size))):
        reached += [negabinary_peer(other, later, size) for other in reached]
    return sorted(reached)


def runs(rank: int, step: int, size: int) -> list[int]:
    """As many blocks as `reach`, numbered so that they are consecutive.

    At every step the half with the lowest rank is the lower one.

    >>> runs(0, 1, 8), runs(1, 1, 8)
    ([0, 1, 2, 3], [4, 5, 6, 7])
    """
    low, count = 0, size
    for earlier in range(step):
        count //= 2
        peer = negabinary_peer(rank, earlier, size)
        if reach(peer, earlier + 1, size)[0] < reach(rank, earlier + 1, size)[0]:
            low += count
    return list(range(low, low + count))


def negabinary_allreduce(rank: int, size: int, source: Buffer, result: Buffer, blocks) -> Iterator:
    """Partners swap halves and combine, near ones first; then they swap them back, far ones first.

    `blocks` says which blocks a rank cares for from a step on: `reach` or `runs`.
    """
    steps = range(floor_log2(size))
    halves: list[tuple[int, Sequence[int], Sequence[int]]] = []
    for step in steps:
        peer = negabinary_peer(rank, step, size)
        halves.append((peer, blocks(rank, step + 1, size), blocks(peer, step + 1, size)))
    held = source
    for peer, mine, theirs in halves:
        yield (
            Send(peer, held[theirs]),
            Recv(peer, Temp[mine]),
            Reduce(held[mine], Temp[mine], into=result[mine]),
        )
        held = result
    for peer, mine, theirs in reversed(halves):
        yield Send(peer, result[mine]), Recv(peer, result[theirs])
