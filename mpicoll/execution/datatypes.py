"""What execution must know of an MPI datatype."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from mpi4py import MPI

__all__ = ["BYTES", "Kind", "half_kind", "is_half", "kind_of", "lookup"]


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """The geometry of a datatype, in bytes.

    `dense`: consecutive elements fill memory without gaps, so that a message is a run of bytes.
    `dtype`: NumPy's name for it, where it has one. `handle` identifies a predefined type and is
    None for others: MPI reuses the handles of freed types, so those must never key a cache. There,
    `datatype` is a duplicate, which lives as long as this object: users may free theirs while a
    started collective needs it. `original` is the handle that the user gave.
    """

    datatype: MPI.Datatype
    size: int
    extent: int
    true_lb: int
    true_extent: int
    dense: bool
    dtype: np.dtype | None
    handle: int | str | None
    original: int | str

    def __del__(self) -> None:
        """Free the duplicate of a type that is not predefined."""
        if self.handle is None and not MPI.Is_finalized():
            self.datatype.Free()

    def span(self, count: int) -> int:
        """Bytes of memory from the first to the last byte of `count` elements."""
        return (count - 1) * abs(self.extent) + self.true_extent if count else 0


def _measure(datatype: MPI.Datatype, predefined: bool) -> Kind:
    size = datatype.Get_size()
    lower, extent = datatype.Get_extent()
    true_lb, true_extent = datatype.Get_true_extent()
    dense = size == extent == true_extent and lower == true_lb == 0 and _in_order(datatype)
    dtype = None
    if predefined:
        try:
            dtype = np.dtype(datatype.typestr)
        except (TypeError, ValueError):
            pass
        if dtype is not None and (dtype.kind not in "biufc" or dtype.itemsize != size):
            dtype = None
    original = datatype.handle
    handle = original if predefined else None
    if not predefined:
        datatype = datatype.Dup()
    return Kind(datatype, size, extent, true_lb, true_extent, dense, dtype, handle, original)


def _in_order(datatype: MPI.Datatype) -> bool:
    """True if the data is surely sent in the order of addresses.

    A type without gaps may still permute its data (a transpose does), so only repetitions of
    predefined types are taken for runs of bytes.
    """
    combiner = datatype.Get_envelope()[-1]
    if combiner == MPI.COMBINER_NAMED:
        return True
    if combiner not in (MPI.COMBINER_DUP, MPI.COMBINER_CONTIGUOUS):
        return False
    inner = datatype.Get_contents()[-1][0]
    answer = _in_order(inner)
    if not inner.is_predefined:
        inner.Free()
    return answer


@lru_cache(maxsize=1)
def _predefined() -> dict[int, Kind]:
    found = {}
    for name in dir(MPI):
        value = getattr(MPI, name)
        if isinstance(value, MPI.Datatype) and value != MPI.DATATYPE_NULL and value.is_predefined:
            if value.Get_size() > 0:
                found[value.handle] = _measure(value, True)
    return found


def kind_of(datatype: MPI.Datatype) -> Kind:
    """The geometry of a datatype; predefined ones are looked up, others measured each time."""
    known = _predefined().get(datatype.handle)
    return known if known is not None else _measure(datatype, False)


def lookup(key: str) -> MPI.Datatype:
    """The datatype that mpi4py takes for a format or a type string; KeyError if there is none."""
    datatype = MPI._typedict.get(key)
    if datatype is None:
        raise KeyError(f"cannot map {key!r} to MPI datatype")
    return datatype


BYTES = _measure(MPI.BYTE, True)


@lru_cache(maxsize=16)
def half_kind(dtype: np.dtype) -> Kind:
    """float16 and bfloat16, which MPI has no portable type for: moved as two bytes each."""
    two = _measure(MPI.UINT16_T, True)
    return replace(two, dtype=dtype, handle=dtype.name, original=dtype.name)


@lru_cache(maxsize=256)
def is_half(dtype: np.dtype | None) -> bool:
    """True for the floating-point types of 16 bits."""
    return dtype is not None and dtype.name in ("float16", "bfloat16")
