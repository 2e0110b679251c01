"""Data that say where they come from: who contributed, and which element it was.

Element i of rank r is 16**r + i * 2**32, exactly as a float64. A sum of such elements tells in its
low 32 bits how often each of up to eight ranks contributed, and in the others the sum of the
element numbers. What was never written is a NaN, and what a receive had not yet brought is another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["LARGEST", "POISON", "UNTOUCHED", "Content", "decode", "elements", "fill", "is_filled"]

LARGEST = 8
_STEP = float(2**32)

#: What output memory holds before the call, and what memory of a started receive holds.
UNTOUCHED, POISON = 0x7FF8000000005E11, 0x7FF8000000001EC7


def elements(rank: int, count: int, first: int = 0) -> np.ndarray:
    """The traced elements of a rank, as float64."""
    return 16.0**rank + _STEP * np.arange(first, first + count, dtype=np.float64)


def fill(array: np.ndarray, pattern: int) -> None:
    """Fill with a pattern that no right result has, as far as the dtype can."""
    kind, flat = array.dtype.kind, array.reshape(-1)
    if array.dtype.itemsize % 8 == 0 and kind in "fc":
        flat.view(np.uint64)[:] = pattern
    elif kind in "fc":
        flat[:] = np.nan
    elif kind in "iu":
        small = np.iinfo(array.dtype)
        flat[:] = small.max - (pattern & 0xFF) % small.max
    else:
        flat.view(np.uint8)[:] = 0


def is_filled(array: np.ndarray, pattern: int) -> np.ndarray:
    """Which elements still hold the pattern, as booleans in the array's shape."""
    other = np.empty_like(array)
    fill(other, pattern)
    size = array.dtype.itemsize
    same = (array.reshape(-1).view(f"V{size}") == other.reshape(-1).view(f"V{size}")).reshape(-1)
    return np.asarray(same).reshape(array.shape)


@dataclass(frozen=True)
class Content:
    """What an element holds.

    `state` is "sum" (`counts`: how often each rank contributed; `index`: of which element, -1 if of
    several), "untouched", "poison" or "strange".
    """

    state: str
    counts: tuple[int, ...] = ()
    index: int = -1

    @property
    def ranks(self) -> tuple[int, ...]:
        """The contributors."""
        return tuple(r for r, times in enumerate(self.counts) if times)

    def __str__(self) -> str:
        if self.state == "untouched":
            return "nothing (never written)"
        if self.state == "poison":
            return "the content of a receive that was not waited for"
        if self.state == "strange":
            return "no sum of contributions"
        several = [f"rank {r}'s {n} times" for r, n in enumerate(self.counts) if n > 1]
        text = "{" + ",".join(map(str, self.ranks)) + "}"
        return text + (f" with {', '.join(several)}" if several else "")


def decode(values: np.ndarray, size: int) -> list[Content]:
    """Tell what each float64 holds."""
    return [_decode(float(v), int(b), size) for v, b in _pairs(values)]


def _pairs(values: np.ndarray) -> zip:
    flat = np.ascontiguousarray(values, np.float64).reshape(-1)
    return zip(flat, flat.view(np.uint64), strict=True)


def _decode(value: float, bits: int, size: int) -> Content:
    if value != value:
        low = bits & 0xFFFF
        known = {UNTOUCHED & 0xFFFF: "untouched", POISON & 0xFFFF: "poison"}
        return Content(known.get(low, "strange"))
    if value < 0 or value != int(value) or value >= 2.0**53:
        return Content("strange")
    indexes, low = divmod(int(value), 2**32)
    counts = tuple(low >> 4 * r & 15 for r in range(LARGEST))
    total = sum(counts)
    if not total or any(counts[size:]):
        return Content("strange")
    return Content("sum", counts[:size], indexes // total if indexes % total == 0 else -1)
