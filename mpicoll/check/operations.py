"""Operations: MPI's own with inputs that suit them, and user-defined ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from mpi4py import MPI

from mpicoll.check.elements import MATRIX, gapped, number
from mpicoll.check.trace import concatenate
from mpicoll.check.values import (
    PRIME,
    full_range,
    logical,
    multipliable,
    residues,
    rounded,
    summable,
    ties,
)

__all__ = ["DEFINED", "LISTING", "LOCATIONS", "PRODUCT", "SUM_MODULO", "Operation"]


@dataclass(frozen=True)
class Operation:
    """How values are combined; `values(random, shape, dtype, size)` makes one rank's inputs.

    `rounds`: results depend on the order of operands in their last bits. `magnitude` is the ufunc
    that combines magnitudes into the unit of the error bound. `user`: not one of MPI's own.
    """

    name: str
    make: Callable[[], MPI.Op]
    values: Callable[[np.random.Generator, tuple[int, int], np.dtype, int], np.ndarray]
    commutative: bool = True
    rounds: bool = False
    magnitude: np.ufunc | None = None
    user: bool = False

    @property
    def op(self) -> MPI.Op:
        """The MPI operation; user-defined ones are made once."""
        return _op(self)


@cache
def _op(operation: Operation) -> MPI.Op:
    return operation.make()


def _items(memory: MPI.buffer, datatype: MPI.Datatype) -> np.ndarray:
    """The items of a user-defined operation's operand, one row per element, as a strided view."""
    # By its geometry: MPI may hand over another datatype that means the same.
    geometry = (datatype.Get_size(), datatype.Get_extent()[1])
    element = next(e for e in _USER_ELEMENTS if (e.nbytes, e.extent) == geometry)
    step = element.items[1] - element.items[0] if len(element.items) > 1 else 0
    # MPI may hand over the last element without its trailing gap.
    count = -(-memory.nbytes // element.extent)
    return np.ndarray((count, len(element.items)), element.dtype, memory, 0, (element.extent, step))


def _sum_modulo(left: MPI.buffer, right: MPI.buffer, datatype: MPI.Datatype) -> None:
    a, b = _items(left, datatype), _items(right, datatype)
    b[:] = (a.astype(np.int64) + b) % PRIME


def _matrix_product(left: MPI.buffer, right: MPI.buffer, datatype: MPI.Datatype) -> None:
    operands = (_items(memory, datatype) for memory in (left, right))
    a, b = (items.astype(np.int64).reshape(-1, 2, 2) for items in operands)
    _items(right, datatype)[:] = (a @ b % PRIME).reshape(-1, 4)


_USER_ELEMENTS = [
    element for plain in (number("int32"), MATRIX) for element in (plain, gapped(plain))
]

SUM_MODULO = Operation(
    "sum mod p", lambda: MPI.Op.Create(_sum_modulo, commute=True), residues, user=True
)
PRODUCT = Operation(
    "matrix product",
    lambda: MPI.Op.Create(_matrix_product, commute=False),
    residues,
    commutative=False,
    user=True,
)

# MPI may only be told that an operation commutes if the one it stands for does.
LISTING = {
    commutes: Operation(
        "listing",
        lambda commutes=commutes: MPI.Op.Create(concatenate, commute=commutes),
        full_range,
        commutative=commutes,
        user=True,
    )
    for commutes in (True, False)
}


def _known(name: str, values: Callable, **more: object) -> Operation:
    label = f"{name} (rounding)" if more.get("rounds") else name
    return Operation(label, lambda: getattr(MPI, name), values, **more)


SUM, PROD = _known("SUM", summable), _known("PROD", multipliable)
SUM_ROUNDED = _known("SUM", rounded, rounds=True, magnitude=np.add)
PROD_ROUNDED = _known("PROD", rounded, rounds=True, magnitude=np.multiply)
EXTREMES = [_known(name, full_range) for name in ("MAX", "MIN")]
LOGICAL = [_known(name, logical) for name in ("LAND", "LOR", "LXOR")]
BITWISE = [_known(name, full_range) for name in ("BAND", "BOR", "BXOR")]
LOCATIONS = [_known(name, ties) for name in ("MINLOC", "MAXLOC")]

#: By the kind of dtype: what MPI defines for it.
DEFINED = {
    "i": [SUM, PROD, *EXTREMES, *LOGICAL, *BITWISE],
    "u": [SUM, PROD, *EXTREMES, *LOGICAL, *BITWISE],
    "f": [SUM, PROD, *EXTREMES, SUM_ROUNDED, PROD_ROUNDED],
    "c": [SUM, PROD, SUM_ROUNDED, PROD_ROUNDED],
    "b": LOGICAL,
}
