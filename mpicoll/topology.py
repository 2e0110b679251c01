"""Arithmetic of ranks: who is whose neighbour, parent, child or partner. No steps, no state.

Trees are trees of *relative* ranks, so that the root is 0; `None` stands for "no parent".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

__all__ = [
    "Tree",
    "binary_tree",
    "binomial_children",
    "binomial_parent",
    "binomial_span",
    "ceil_log2",
    "chain_tree",
    "core_size",
    "digits_of_core",
    "distances",
    "double_tree",
    "floor_log2",
    "in_order_tree",
    "knomial_tree",
    "largest_divisor",
    "negabinary_peer",
    "node_groups",
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


class Tree(NamedTuple):
    """A rank's place in a tree: its parent, its children in order, its depth below the root."""

    parent: int | None
    children: tuple[int, ...]
    depth: int


def chain_tree(relative: int, size: int) -> Tree:
    """The ranks in a row, each the parent of the next."""
    children = (relative + 1,) if relative + 1 < size else ()
    return Tree(relative - 1 if relative else None, children, relative)


def binary_tree(relative: int, size: int) -> Tree:
    """The complete binary tree: rank i has children 2i + 1 and 2i + 2.

    >>> binary_tree(1, 5)
    Tree(parent=0, children=(3, 4), depth=1)
    """
    children = tuple(c for c in (2 * relative + 1, 2 * relative + 2) if c < size)
    return Tree((relative - 1) // 2 if relative else None, children, floor_log2(relative + 1))


def knomial_tree(relative: int, size: int, radix: int) -> tuple[int | None, list[list[int]]]:
    """Parent, and children by level, the level with the largest subtrees first.

    The parent of a rank is its number with the last digit that is not 0, in base `radix`, made 0.
    The subtree of a child at distance d is the `radix` ** level ranks from it on.

    >>> knomial_tree(0, 9, 3)
    (None, [[3, 6], [1, 2]])
    >>> knomial_tree(7, 9, 3)
    (6, [])
    """
    distance = 1
    while distance < size and relative % (distance * radix) == 0:
        distance *= radix
    parent = relative - relative % (distance * radix) if relative else None
    levels = []
    while distance > 1:
        distance //= radix
        level = [relative + digit * distance for digit in range(1, radix)]
        levels.append([child for child in level if child < size])
    return parent, [level for level in levels if level]


def in_order_tree(number: int, count: int) -> Tree:
    """The binary tree over 1 .. count in which a subtree is a range and every odd number a leaf.

    A node with the lowest bit b has its children at distance b / 2, or nearer where the range ends.
    The parent of the top is 0.

    >>> [in_order_tree(x, 5).parent for x in range(1, 6)]
    [2, 4, 2, 0, 4]
    """
    bit, depth, node = number & -number, 0, number
    left = (number - bit // 2,) if bit > 1 else ()
    beyond = min(bit - 1, count - number)
    right = (number + (1 << floor_log2(beyond)),) if beyond > 0 else ()
    while node:
        node, depth = _in_order_parent(node, count), depth + 1
    return Tree(_in_order_parent(number, count), left + right, depth)


def _in_order_parent(number: int, count: int) -> int:
    bit = number & -number
    up = number + bit
    return up if up <= count and not number & 2 * bit else number - bit


def double_tree(relative: int, size: int) -> tuple[Tree, Tree]:
    """A rank's places in two binary trees; who has children in one is a leaf in the other.

    Both have rank 0 as root with one child. The second is the first with the other ranks mirrored,
    or moved on by one if their number is odd (then one rank is a leaf twice).

    >>> double_tree(2, 5)
    (Tree(parent=4, children=(1, 3), depth=2), Tree(parent=3, children=(), depth=3))
    """
    count = size - 1

    def place(number: int) -> int:
        if not number:
            return 0
        return count + 1 - number if count % 2 == 0 else number % count + 1

    def rank_at(number: int) -> int:
        if not number:
            return 0
        return count + 1 - number if count % 2 == 0 else (number - 2) % count + 1

    if size == 1:
        return Tree(None, (), 0), Tree(None, (), 0)
    if relative == 0:
        top = 1 << floor_log2(count)
        return Tree(None, (top,), 0), Tree(None, (rank_at(top),), 0)
    first, second = in_order_tree(relative, count), in_order_tree(place(relative), count)
    return first, Tree(rank_at(second.parent), tuple(map(rank_at, second.children)), second.depth)


def digits_of_core(size: int, radix: int) -> int:
    """The largest e with radix**e <= size.

    >>> digits_of_core(26, 3)
    2
    """
    exponent, power = 0, radix
    while power <= size:
        exponent, power = exponent + 1, power * radix
    return exponent


def negabinary_peer(rank: int, step: int, size: int) -> int:
    """The partner of a rank at a distance of 1, -1, 3, -5, 11, ... (even ranks; odd ones back).

    These are the numbers (1 - (-2) ** (step + 1)) / 3. The size must be even.

    >>> [negabinary_peer(0, step, 16) for step in range(4)]
    [1, 15, 3, 11]
    """
    distance = (1 - (-2) ** (step + 1)) // 3
    return (rank + distance if rank % 2 == 0 else rank - distance) % size


def largest_divisor(size: int) -> int:
    """The largest divisor that is not above the square root: a grid as square as may be.

    >>> largest_divisor(12), largest_divisor(13)
    (3, 1)
    """
    return max(d for d in range(1, math.isqrt(size) + 1) if size % d == 0)


def node_groups(nodes: Sequence[int] | None, size: int) -> list[list[int]]:
    """The ranks of every node, nodes in the order of their first rank; None is one node.

    >>> node_groups((7, 7, 2, 7), 4)
    [[0, 1, 3], [2]]
    """
    groups: dict[int, list[int]] = {}
    for rank, node in enumerate(nodes or (0,) * size):
        groups.setdefault(node, []).append(rank)
    return list(groups.values())
