"""Elements: what a datatype stands for, and where the items of one are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from mpi4py import MPI

__all__ = ["MATRIX", "NUMBERS", "PAIRS", "Element", "gapped", "number"]

NUMBERS = (
    "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128 bool"
).split()


@dataclass(frozen=True)
class Element:
    """What a datatype stands for: items of one dtype at byte offsets inside an extent."""

    name: str
    dtype: np.dtype
    items: tuple[int, ...] = (0,)
    extent: int = 0
    predefined: str = ""

    @property
    def datatype(self) -> MPI.Datatype:
        """The MPI datatype, derived where the items are more than one."""
        return _datatype(self)

    @property
    def nbytes(self) -> int:
        """Bytes of data in an element, gaps not counted."""
        return len(self.items) * self.dtype.itemsize

    @property
    def simple(self) -> bool:
        """True if a NumPy array of the dtype says it all."""
        return self.items == (0,) and not self.predefined

    def offsets(self, count: int) -> np.ndarray:
        """The byte offsets of the items of `count` elements."""
        starts = np.arange(count, dtype=np.int64) * self.extent
        return (starts[:, None] + np.array(self.items, np.int64)).ravel()


@cache
def _datatype(element: Element) -> MPI.Datatype:
    # Kept for the life of the process, as are the elements.
    if element.predefined:
        return getattr(MPI, element.predefined)
    base = MPI._typedict[element.dtype.char]
    if element.items == (0,) and element.extent == element.dtype.itemsize:
        return base
    whole = base.Create_hindexed_block(1, element.items)
    resized = whole.Create_resized(0, element.extent).Commit()
    whole.Free()
    return resized


def number(name: str) -> Element:
    """The element of a NumPy dtype."""
    dtype = np.dtype(name)
    return Element(name, dtype, extent=dtype.itemsize)


def _pair(name: str, value: str, predefined: str) -> Element:
    dtype = np.dtype([("value", value), ("index", "i4")])
    return Element(name, dtype, extent=dtype.itemsize, predefined=predefined)


def gapped(element: Element) -> Element:
    """The same items with gaps after each of them, as a derived datatype."""
    if element.predefined:
        return element
    size = element.dtype.itemsize
    items = tuple(2 * offset for offset in element.items)
    if len(items) == 1:
        items = (0, 3 * size)
    return Element(f"{element.name} with gaps", element.dtype, items, max(items) + 2 * size)


MATRIX = Element("2x2 int32", np.dtype("i4"), (0, 4, 8, 12), 16)
#: Values with an index, for MINLOC and MAXLOC.
PAIRS = [_pair("int32+index", "i4", "TWOINT"), _pair("float32+index", "f4", "FLOAT_INT")]
