"""Circulant graphs: the broadcast schedule that is optimal for any number of ranks and blocks.

Ranks are relative to the root. See Traeff, "Optimal broadcast schedules in logarithmic time", 2024.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

__all__ = ["circulant_base", "circulant_receives", "circulant_skips"]


def circulant_skips(size: int) -> list[int]:
    """Halves of the size, rounded up, from 1 on: the distances of a circulant graph.

    >>> circulant_skips(13)
    [1, 2, 4, 7]
    """
    skips = [size]
    while skips[-1] > 1:
        skips.append((skips[-1] + 1) // 2)
    return skips[:0:-1]


def circulant_base(relative: int, skips: Sequence[int]) -> int:
    """The block that a rank gets first when the root sends block k over skip k.

    That is the smallest skip on the way to the rank, skips taken largest first; for the root itself
    it is the number of skips.
    """
    for k in reversed(range(len(skips))):
        if relative == skips[k]:
            return k
        if relative > skips[k]:
            relative -= skips[k]
    return len(skips)


@lru_cache(maxsize=1 << 16)
def circulant_receives(relative: int, size: int) -> tuple[int, ...]:
    """Which block a rank receives over each skip in a phase of q rounds, q = number of skips.

    In a phase the root sends the new blocks 0 .. q - 1. A rank receives one of them, its base
    block, and of the q blocks of the phase before (numbered -q .. -1) all but the one it has. What
    arrives over skip k started from a rank that had it as base block and that lies at least skip k
    back; each time the nearest such rank is taken whose base block is still missing. The ranks are
    walked depth first along paths of falling skips.
    """
    skips = [*circulant_skips(size), size]
    rounds = len(skips) - 1
    base = circulant_base(relative, skips[:-1])
    missing = set(range(rounds + 1)) - {base}
    here = relative + size
    found: list[int] = []
    nearest = 2 * size

    def walk(start: int, largest: int) -> None:
        nonlocal nearest
        for k in range(largest, -1, -1):
            at = start + skips[k]
            if k not in missing or at > here - skips[len(found)] or at >= nearest:
                continue
            if at <= here - skips[len(found) + 1]:
                walk(at, k)
            if len(found) == rounds or start > here - skips[len(found) + 1]:
                return
            if k in missing and at <= here - skips[len(found)] and at < nearest:
                nearest = at
                found.append(k)
                missing.discard(k)
                if len(found) == rounds:
                    return

    walk(0, rounds)
    return tuple(base if k == rounds else k - rounds for k in found)
