"""Buffers between guard bytes, filled with a pattern that a call may change only in part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mpicoll.check.elements import Element

__all__ = ["Area", "Place", "Slot"]

GUARD = 64
# Bytes that differ from their neighbours, so that data moved by a few bytes is noticed too.
_PATTERN = ((np.arange(1 << 12) * 91 + 0xA5) % 251).astype(np.uint8)


class Slot(NamedTuple):
    """`count` elements, `at` bytes from the start of a buffer."""

    element: Element
    at: int
    count: int

    @property
    def end(self) -> int:
        """Where the last element's extent ends."""
        return self.at + self.count * self.element.extent


class Place(NamedTuple):
    """What lies at a byte: an item of an element of a slot, or what `outside` says."""

    slot: int
    element: int
    item: int
    outside: str = ""


class Area:
    """A buffer between two guards; `initial` is what it holds before each call."""

    def __init__(self, slots: Sequence[Slot], shift: int) -> None:
        self.start = GUARD + shift
        self.nbytes = max((slot.end for slot in slots), default=0)
        total = self.start + self.nbytes + GUARD
        self.memory = np.resize(_PATTERN, total)
        self.dtype = slots[0].element.dtype if slots else np.dtype(np.uint8)
        self.initial = self.memory.copy()

    def keep(self) -> None:
        """Take the present content for the initial one."""
        self.initial[:] = self.memory

    def reset(self) -> None:
        """Fill in the initial content."""
        self.memory[:] = self.initial

    @property
    def from_start(self) -> np.ndarray:
        """The bytes from the start of the buffer on, the guard behind it included."""
        return self.memory[self.start :]

    def array(self, count: int) -> np.ndarray:
        """The first `count` elements as an array of their dtype."""
        return self.memory[self.start : self.start + count * self.dtype.itemsize].view(self.dtype)

    def read(self, slot: Slot, memory: np.ndarray | None = None) -> np.ndarray:
        """A copy of the items in a slot, from this memory or an image of it."""
        whole = self.memory if memory is None else memory
        return whole[self._bytes(slot)].reshape(-1).view(slot.element.dtype)

    def write(self, slot: Slot, values: np.ndarray, memory: np.ndarray | None = None) -> None:
        """Put items into a slot of this memory, or of an image of it."""
        whole = self.memory if memory is None else memory
        where = self._bytes(slot)
        whole[where] = np.ascontiguousarray(values).view(np.uint8).reshape(whole[where].shape)

    def _bytes(self, slot: Slot) -> slice | np.ndarray:
        start, size = self.start + slot.at, slot.element.dtype.itemsize
        if slot.element.extent == size * len(slot.element.items):
            return slice(start, start + slot.count * slot.element.extent)
        return start + slot.element.offsets(slot.count)[:, None] + np.arange(size)

    def locate(self, byte: int, slots: Sequence[Slot]) -> Place:
        """Say what lies at a byte of the memory."""
        at = byte - self.start
        for number, slot in enumerate(slots):
            if slot.at <= at < slot.end:
                element, rest = divmod(at - slot.at, slot.element.extent)
                for item, offset in enumerate(slot.element.items):
                    if offset <= rest < offset + slot.element.dtype.itemsize:
                        return Place(number, element, item)
        if at < 0:
            return Place(0, 0, 0, f"{-at} bytes before the buffer")
        if at >= self.nbytes:
            return Place(0, 0, 0, f"{at - self.nbytes} bytes behind the end of the buffer")
        return Place(0, 0, 0, f"byte {at} of the buffer, which is not part of the result")
