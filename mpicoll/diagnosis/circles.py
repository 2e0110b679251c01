"""Circles in a graph of who waits for whom."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Set

__all__ = ["circles"]


def circles(graph: Mapping[int, Set[int]]) -> list[list[int]]:
    """A shortest circle through each group of nodes that can reach each other.

    Circles begin at their lowest node, and no two have a node in common.

    >>> circles({0: {1}, 1: {2, 0}, 2: {0}, 3: {3}, 4: {0}})
    [[0, 1], [3]]
    """
    found: list[list[int]] = []
    settled: set[int] = set()
    for start in sorted(graph):
        if start in settled:
            continue
        circle = _shortest(graph, start)
        if circle is None:
            continue
        # The shortest one from here may not be the shortest of the group.
        best = min(filter(None, (_shortest(graph, node) for node in circle)), key=len)
        at = best.index(min(best))
        found.append(best[at:] + best[:at])
        settled |= _group(graph, start)
    return found


def _shortest(graph: Mapping[int, Set[int]], start: int) -> list[int] | None:
    """A shortest way from a node back to it."""
    before: dict[int, int] = {}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for after in sorted(graph.get(node, ())):
            if after == start:
                way = [node]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return way[::-1]
            if after not in before and after in graph:
                before[after] = node
                queue.append(after)
    return None


def _reachable(graph: Mapping[int, Set[int]], start: int) -> set[int]:
    seen, stack = {start}, [start]
    while stack:
        for after in graph.get(stack.pop(), ()):
            if after not in seen:
                seen.add(after)
                stack.append(after)
    return seen


def _group(graph: Mapping[int, Set[int]], start: int) -> set[int]:
    """The nodes that can be reached from `start` and can reach it."""
    back: dict[int, set[int]] = {}
    for node, targets in graph.items():
        for target in targets:
            back.setdefault(target, set()).add(node)
    return _reachable(graph, start) & _reachable(back, start)
