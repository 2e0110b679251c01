"""What a rank's buffers hold after a call, against what they must hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mpicoll.check.layouts import Layout
from mpicoll.check.memory import Area, Place

__all__ = ["Fault", "Target", "compare"]


@dataclass(frozen=True)
class Fault:
    """What is wrong on one rank; the place and the values, where there is one."""

    rank: int
    text: str
    place: Place | None = None
    expected: str = ""
    got: str = ""

    def __str__(self) -> str:
        lines = [f"rank {self.rank}: {self.text}"]
        if self.expected or self.got:
            lines.append(f"  expected {self.expected}\n  got      {self.got}")
        return "\n".join(lines)


class Target:
    """The content that both buffers must have; outputs are the native ones of this moment.

    `unit` is None where bits must be equal; otherwise outputs may differ from the native ones by
    `limit` times `unit`.
    """

    def __init__(self, send: Area, receive: Area, layout: Layout) -> None:
        self.layout = layout
        self.native = [receive.read(slot).copy() for slot in layout.outputs]
        self.send, self.receive = send.initial, receive.initial.copy()
        for slot, values in zip(layout.outputs, self.native, strict=True):
            receive.write(slot, values, self.receive)
        self.unit: np.ndarray | None = None
        self.limit = 0


def compare(rank: int, send: Area, receive: Area, target: Target) -> tuple[Fault | None, float]:
    """The first fault on this rank, and the error in units of the bound's `unit`."""
    layout = target.layout
    if not np.array_equal(send.memory, target.send):
        at = int(np.argmax(send.memory != target.send))
        place = send.locate(at, layout.send)
        where = place.outside or f"element {place.element} of its block {place.slot}"
        text = f"the send buffer was changed: {where}"
        return Fault(rank, text, place, *_around(send, at, target.send)), 0.0
    error, image = 0.0, receive.memory
    if target.unit is not None and layout.outputs:
        fault, error = _rounding(rank, receive, target)
        if fault:
            return fault, error
        image = receive.memory.copy()
        receive.write(layout.outputs[0], target.native[0], image)
    if np.array_equal(image, target.receive):
        return None, error
    at = int(np.argmax(image != target.receive))
    return _explained(rank, receive, at, target), error


def _explained(rank: int, receive: Area, at: int, target: Target) -> Fault:
    layout = target.layout
    place = receive.locate(at, layout.outputs)
    if place.outside:
        text = f"memory was changed that is not part of the result: {place.outside}"
        return Fault(rank, text, place, *_around(receive, at, target.receive))
    slot = layout.outputs[place.slot]
    block = f" of block {place.slot}" if len(layout.outputs) > 1 else ""
    items = len(slot.element.items)
    here = slice(place.element * items, (place.element + 1) * items)
    got, before = (receive.read(slot, memory)[here] for memory in (receive.memory, receive.initial))
    expected = target.native[place.slot][here]
    text = f"element {place.element}{block} of its result is wrong"
    untouched = " (it was not written)" if got.tobytes() == before.tobytes() else ""
    return Fault(rank, text, place, _spell(expected), _spell(got) + untouched)


def _rounding(rank: int, receive: Area, target: Target) -> tuple[Fault | None, float]:
    got, native = receive.read(target.layout.outputs[0]), target.native[0]
    if not got.size:
        return None, 0.0
    with np.errstate(all="ignore"):
        error = np.abs(got.astype(native.dtype) - native).astype(np.float64) / target.unit
    # A unit of nought demands equality; what is not a number is as wrong as can be.
    error[got == native] = 0.0
    error[np.isnan(error)] = np.inf
    worst = int(np.argmax(error))
    if error[worst] <= target.limit:
        return None, float(error[worst])
    text = (
        f"element {worst} of its result is off by {error[worst]:.3g} eps x the magnitudes; "
        f"the bound is {target.limit}"
    )
    place = Place(0, worst, 0)
    return Fault(rank, text, place, _spell(native[worst]), _spell(got[worst])), float(error[worst])


def _around(area: Area, at: int, expected: np.ndarray) -> tuple[str, str]:
    """The bytes from `at` on, as expected and as found."""
    return tuple(" ".join(f"{b:02x}" for b in m[at : at + 8]) for m in (expected, area.memory))


def _spell(values: np.ndarray) -> str:
    values = np.atleast_1d(values)
    return str(values[0].item() if len(values) == 1 else values.tolist())
