"""Phases on trees: whole vectors or segments one after the other go down, or up and are combined.

A tree is given to each rank as its parent and its children (ranks, not relative ones).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mpicoll.steps import Buffer, Copy, Recv, Reduce, Round, Send, Temp
from mpicoll.topology import Tree, double_tree, floor_log2

__all__ = [
    "among",
    "double_tree_bcast",
    "double_tree_reduce",
    "merged",
    "tree_bcast",
    "tree_reduce",
]


def among(tree: Tree, root: int, size: int) -> tuple[int | None, list[int]]:
    """Parent and children of a tree of relative ranks, as ranks."""
    parent = None if tree.parent is None else (tree.parent + root) % size
    return parent, [(child + root) % size for child in tree.children]


def tree_bcast(
    parent: int | None, children: Sequence[int], buffer: Buffer, segments: Sequence[int]
) -> Iterator:
    """In round k a rank receives segment k and sends segment k - 1 on.

    There is one more round than segments; rounds that have nothing to do are empty.
    """
    for k in range(len(segments) + 1):
        steps: list = []
        if parent is not None and k < len(segments):
            steps.append(Recv(parent, buffer[segments[k]]))
        if k > 0:
            steps += [Send(child, buffer[segments[k - 1]]) for child in children]
        yield tuple(steps)


def tree_reduce(
    parent: int | None,
    children: Sequence[int],
    source: Buffer,
    result: Buffer,
    segments: Sequence[int],
    lefts: int = 0,
) -> Iterator:
    """In round k a rank combines segment k of its children with its own and sends k - 1 up.

    The first `lefts` children go to the left of the rank's own contribution, the others to the
    right. The combination is in `result` of the top, and in Temp elsewhere.
    """
    total = result if parent is None else Temp
    if parent is None and not children:
        yield Copy(source[:], result[:])
    for k in range(len(segments) + 1):
        steps: list = []
        if k > 0 and parent is not None:
            steps.append(Send(parent, (total if children else source)[segments[k - 1]]))
        if k < len(segments) and children:
            block = segments[k]
            arrived = [Temp.row(1 + i)[block] for i in range(len(children))]
            steps += [Recv(child, into) for child, into in zip(children, arrived, strict=True)]
            so_far = source[block]
            for chunk in reversed(arrived[:lefts]):
                steps.append(Reduce(chunk, so_far, into=total[block]))
                so_far = total[block]
            for chunk in arrived[lefts:]:
                steps.append(Reduce(so_far, chunk, into=total[block]))
                so_far = total[block]
        yield tuple(steps)


def merged(*delayed: tuple[int, Iterator]) -> Iterator:
    """Several phases at once, each begun after its delay, one round of each in every round.

    If both ends of every message do it in the same round, nobody can wait in a circle.
    """
    waiting = [[delay, phase] for delay, phase in delayed]
    while waiting:
        steps: list = []
        for entry in list(waiting):
            if entry[0]:
                entry[0] -= 1
                continue
            following: Round | None = next(entry[1], None)
            if following is None:
                waiting.remove(entry)
            else:
                steps += following
        yield tuple(steps)


def double_tree_bcast(
    rank: int, size: int, root: int, segments: int, buffer: Buffer, delays: Sequence[int] = (0, 0)
) -> list[tuple[int, Iterator]]:
    """Half of the segments go down one binary tree, half down the other (see `merged`)."""
    phases = []
    for number, tree in enumerate(double_tree((rank - root) % size, size)):
        parent, children = among(tree, root, size)
        half = range(number * segments, (number + 1) * segments)
        phases.append((delays[number] + tree.depth, tree_bcast(parent, children, buffer, half)))
    return phases


def double_tree_reduce(
    rank: int, size: int, root: int, segments: int, source: Buffer, result: Buffer
) -> list[tuple[int, Iterator]]:
    """Half of the segments go up one binary tree, half up the other (see `merged`)."""
    height = floor_log2(size - 1) + 1 if size > 1 else 0
    phases = []
    for number, tree in enumerate(double_tree((rank - root) % size, size)):
        parent, children = among(tree, root, size)
        half = range(number * segments, (number + 1) * segments)
        phases.append((height - tree.depth, tree_reduce(parent, children, source, result, half)))
    return phases
