"""The operations that functions are called with, on arrays and in MPI.

`UFUNCS` needs no MPI. "affine" composes maps x -> a x + b modulo a prime, packed into one int64: it
is associative and does not commute.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["PRIME", "UFUNCS", "affine", "commutes", "mpi_operation", "suits"]

PRIME = 32749


def affine(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Compose affine maps, elementwise."""
    a, b = np.divmod(np.asarray(left, np.int64), PRIME)
    c, d = np.divmod(np.asarray(right, np.int64), PRIME)
    return a * c % PRIME * PRIME + (a * d + b) % PRIME


UFUNCS: dict[str, Callable[[Any, Any], Any]] = {
    "SUM": np.add,
    "PROD": np.multiply,
    "MAX": np.maximum,
    "MIN": np.minimum,
    "gcd": np.gcd,
    "affine": affine,
}


def commutes(name: str) -> bool:
    """Whether operands may be exchanged."""
    return name != "affine"


def suits(name: str, dtype: str) -> bool:
    """Whether the operation is defined for the dtype."""
    kind = np.dtype(dtype).kind
    if name in ("gcd", "affine"):
        return dtype == "int64"
    return kind != "c" or name in ("SUM", "PROD")


def mpi_operation(name: str) -> Any:
    """The MPI operation of that name, which also combines arrays when it is called."""
    from mpi4py import MPI

    combine = UFUNCS[name]

    class Operation(MPI.Op):
        """An operation of MPI's, or a user-defined one."""

        def __call__(self, x: Any, y: Any) -> Any:
            return combine(x, y)

        def __repr__(self) -> str:
            return f"<operation {name}>"

    def user(left: Any, right: Any, datatype: Any) -> None:
        if isinstance(right, np.ndarray):
            right[...] = combine(left, right)
            return
        into = np.frombuffer(right, np.int64)
        into[:] = combine(np.frombuffer(left, np.int64), into)

    made = getattr(MPI, name, None) or MPI.Op.Create(user, commute=commutes(name))
    return Operation(made)
