"""What is sent and how it is combined: elements with operations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mpicoll.check.elements import MATRIX, NUMBERS, PAIRS, Element, number
from mpicoll.check.operations import (
    DEFINED,
    LISTING,
    LOCATIONS,
    PRODUCT,
    SUM_MODULO,
    Operation,
)
from mpicoll.check.trace import TRACE, traces
from mpicoll.check.values import full_range

__all__ = ["Kind", "moving_kinds", "reducing_kinds", "traced_kind"]


@dataclass(frozen=True)
class Kind:
    """An element and, in reductions, an operation on it.

    `traced`: elements carry where they come from (see `mpicoll.check.trace`).
    """

    element: Element
    operation: Operation | None = None
    traced: bool = False

    def values(
        self, random: np.random.Generator, rank: int, block: int, count: int, size: int
    ) -> np.ndarray:
        """Inputs of a rank in one block: one row of items per element."""
        if self.traced:
            return traces(rank, block, count)
        shape = (count, len(self.element.items))
        make = self.operation.values if self.operation else full_range
        return make(random, shape, self.element.dtype, size)

    def __str__(self) -> str:
        return f"{self.element.name} {self.operation.name}" if self.operation else self.element.name


_CLASSES = ("iu", "f", "c", "b")
_USER = [Kind(number("int32"), SUM_MODULO), Kind(MATRIX, PRODUCT), Kind(MATRIX, PRODUCT)]


def reducing_kinds(full: bool) -> list[Kind]:
    """Elements with operations: every pair that MPI defines, or each of either at least once."""
    located = [Kind(pair, op) for pair, op in zip(PAIRS, LOCATIONS, strict=True)]
    kinds = []
    for group in _CLASSES:
        elements = [number(name) for name in NUMBERS if np.dtype(name).kind in group]
        operations = DEFINED[group[0]]
        if full:
            kinds += [Kind(element, op) for element in elements for op in operations]
        else:
            # Around both lists: each dtype and each operation comes up.
            several, steps = len(elements), max(len(elements), len(operations))
            kinds += [
                Kind(elements[(i + i // several) % several], operations[i % len(operations)])
                for i in range(steps)
            ]
    if full:
        located = [Kind(pair, op) for pair in PAIRS for op in LOCATIONS]
    # Once is too little for the only operation that shows the order of operands.
    return kinds + located + _USER * (4 if full else 3)


def traced_kind(kind: Kind) -> Kind:
    """The same with elements that carry where they come from, and an operation that lists them."""
    element = Element("trace", np.dtype("u1"), tuple(range(TRACE.itemsize)), TRACE.itemsize)
    if kind.operation is None:
        return Kind(element, None, True)
    return Kind(element, LISTING[kind.operation.commutative], True)


def moving_kinds() -> list[Kind]:
    """Elements for collectives that combine nothing."""
    return [Kind(element) for element in (*map(number, NUMBERS), *PAIRS, MATRIX)]
