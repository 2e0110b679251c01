"""Figures made from times: statistics, bandwidths, means of ratios; needs no MPI.

Bandwidths are those of nccl-tests: ``algbw`` is the bytes of the whole collective per second,
``busbw`` is algbw times a factor that makes it comparable to what a link carries, whatever the
number of ranks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Summary", "bus_factor", "geometric_mean", "order", "summarise"]


@dataclass(frozen=True)
class Summary:
    """Times of the iterations of one candidate, in seconds; percentiles by nearest rank."""

    iterations: int
    avg: float
    min: float
    max: float
    p50: float
    p99: float


def summarise(times: Sequence[float]) -> Summary:
    """The statistics of some times, at least one.

    >>> summarise([3.0, 1.0, 2.0, 10.0])
    Summary(iterations=4, avg=4.0, min=1.0, max=10.0, p50=2.5, p99=10.0)
    """
    ordered = sorted(times)
    count = len(ordered)
    middle = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    p99 = ordered[math.ceil(0.99 * count) - 1]
    return Summary(count, math.fsum(ordered) / count, ordered[0], ordered[-1], middle, p99)


def bus_factor(collective: str | None, ranks: int) -> float:
    """How many times the bytes of the collective go through the busiest link.

    The factors of nccl-tests; it is 1 for what it lacks: scan, exscan, plain messages (None).

    >>> bus_factor("allreduce", 4), bus_factor("allgather", 4), bus_factor("bcast", 4)
    (1.5, 0.75, 1.0)
    """
    if collective == "allreduce":
        return 2 * (ranks - 1) / ranks
    if collective in ("reduce_scatter", "allgather", "alltoall", "gather", "scatter"):
        return (ranks - 1) / ranks
    return 1.0


def geometric_mean(ratios: Iterable[float]) -> float:
    """The mean under which twice as fast and half as fast cancel; nan of nothing."""
    logarithms = [math.log(ratio) for ratio in ratios]
    return math.exp(math.fsum(logarithms) / len(logarithms)) if logarithms else math.nan


def order(candidates: int, iteration: int) -> list[int]:
    """In which order the candidates have their turns in an iteration.

    In every 2n iterations each of n candidates is twice in every place and twice after every other
    one (Williams 1949): nobody always finds the caches as the same other one left them.

    >>> [order(4, i) for i in (0, 2, 4, 6)]
    [[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]]
    """
    start = iteration // 2
    zigzag = [(i + 1) // 2 if i % 2 else -(i // 2) for i in range(candidates)]
    turns = [(start + offset) % candidates for offset in zigzag]
    return turns[::-1] if iteration % 2 else turns
