"""The element types and operations that a traced call may have."""

from __future__ import annotations

import numpy as np

from mpicoll.commands import CommandError

__all__ = ["check_dtype", "check_op"]

OPERATIONS = ("SUM", "PROD", "MAX", "MIN")


def check_dtype(name: str) -> str:
    """The name of a numeric type; CommandError if it is none."""
    try:
        kind = np.dtype(name)
    except TypeError:
        kind = np.dtype(object)
    if kind.kind not in "iuf" or kind.itemsize > 8:
        raise CommandError(f"--dtype takes a type such as float64 or int32, not {name!r}")
    return kind.name


def check_op(name: str) -> str:
    """The name of an operation; CommandError if it is none."""
    if name.upper() not in OPERATIONS:
        raise CommandError(f"--op takes one of {', '.join(OPERATIONS)}, not {name!r}")
    return name.upper()
