"""Arithmetic of ranks: who is whose neighbour, parent, child or partner. No steps, no state."""

from __future__ import annotations

__all__ = [
    "binomial_children",
    "binomial_parent",
    "binomial_span",
    "ceil_log2",
    "core_size",
    "distances",
    "floor_log2",
]


def floor_log2(size: int) -> int:
    """The largest e with 2**e <= size."""
    return size.bit_length() - 1


def ceil_log2(size: int) -> int:
    """The smallest e with 2**e >= size."""
    return (size - 1).bit_length()


def core_size(size: int) -> int:
    """The largest power of two that is at most `size`; ranks beyond it are spare."""
    return 1 << floor_log2(size)


def distances(size: int) -> list[int]:
    """1, 2, 4, ... below `size`.

    >>> distances(6)
    [1, 2, 4]
    """
    return [1 << e for e in range(ceil_log2(size))]


def binomial_span(relative: int, size: int) -> int:
    """How many ranks the binomial subtree of `relative` has, itself included.

    The subtree is the consecutive ranks relative .. relative + span - 1.

    >>> [binomial_span(r, 6) for r in range(6)]
    [6, 1, 2, 1, 2, 1]
    """
    reach = relative & -relative if relative else 1 << ceil_log2(size)
    return min(reach, size - relative)


def binomial_parent(relative: int) -> int:
    """The parent of a rank other than 0: its number without the lowest bit that is set."""
    return relative & (relative - 1)


def binomial_children(relative: int, size: int) -> list[int]:
    """The children of a rank, the one with the largest subtree first.

    >>> binomial_children(0, 6)
    [4, 2, 1]
    """
    reach = relative & -relative if relative else 1 << ceil_log2(size)
    children = []
    while reach > 1:
        reach >>= 1
        if relative + reach < size:
            children.append(relative + reach)
    return children
