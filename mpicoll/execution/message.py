"""Buffer specifications, read as mpi4py reads them.

A *message* argument is a buffer, or ``[buffer, count]``, ``[buffer, datatype]``,
``[buffer, count, datatype]``, ``[buffer, (count, displacement), datatype]``,
``[buffer, count, displacement, datatype]``; the vector forms take counts and displacements per
rank, the w form datatypes per rank as well. A datatype may be a type string. Buffers are anything
with the buffer protocol or DLPack, in C or Fortran order.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from mpicoll.errors import fail
from mpicoll.execution.datatypes import Kind, half_kind, is_half, kind_of, lookup
from mpicoll.execution.foreign import format_of

__all__ = ["Message", "Vector", "read_message", "read_vector", "read_vector_w"]


class Message(NamedTuple):
    """`count` elements of `kind` at `address`; `memory` keeps the buffer alive."""

    address: int
    count: int
    kind: Kind
    memory: object


class Vector(NamedTuple):
    """One message per rank: counts, byte offsets from `address`, and kinds."""

    address: int
    counts: tuple[int, ...]
    offsets: tuple[int, ...]
    kinds: tuple[Kind, ...]
    memory: object


_DTYPES: dict[np.dtype, MPI.Datatype] = {}


def _memory(buffer: object, writable: bool) -> tuple[MPI.buffer, str | None]:
    """A buffer's memory, and the format of its elements."""
    if isinstance(buffer, np.ndarray):
        view, layout = buffer, None
        if not buffer.flags.c_contiguous:
            if not buffer.flags.f_contiguous:
                raise BufferError(
                    f"message: array of shape {buffer.shape} with strides {buffer.strides} is not "
                    "contiguous; pass a copy (numpy.ascontiguousarray) or a datatype with strides"
                )
            view = buffer.T
        layout = buffer.dtype
        if is_half(layout):
            view = view.view(np.uint16)
    else:
        try:
            view = memoryview(buffer)
            layout = view.format
            if view.ndim > 1 and not view.c_contiguous and view.f_contiguous:
                view = np.asarray(view).T
        except TypeError:
            view, layout = buffer, format_of(buffer)
    memory = MPI.buffer.frombuffer(view, readonly=not writable)
    return memory, layout


def _datatype_of(layout: object) -> MPI.Datatype:
    if isinstance(layout, np.dtype):
        known = _DTYPES.get(layout)
        if known is None:
            if not layout.isnative:
                raise BufferError(
                    f"message: dtype {layout} has foreign byte order; give an MPI datatype"
                )
            try:
                layout_format = memoryview(np.empty(0, layout)).format
            except ValueError as error:
                raise KeyError(f"message: cannot map dtype {layout} to MPI datatype") from error
            known = _DTYPES[layout] = _datatype_of(layout_format)
        return known
    text = layout or "B"
    if text[0] in "<>" and text[0] != ("<" if np.little_endian else ">"):
        raise BufferError(f"message: format {text!r} has foreign byte order")
    return lookup(text.lstrip("@<>="))


def _is_type(item: object) -> bool:
    return isinstance(item, (MPI.Datatype, str))


def _unpacked(
    message: object, pair: type | tuple[type, ...]
) -> tuple[object, object, object, object]:
    """Buffer, count(s), displacement(s), datatype of a specification."""
    count = displacement = datatype = None
    if isinstance(message, (list, tuple)):
        if len(message) == 2:
            buffer, count = message
            if _is_type(count):
                count, datatype = None, count
        elif len(message) == 3:
            buffer, count, datatype = message
        elif len(message) == 4:
            buffer, count, displacement, datatype = message
            return buffer, count, displacement, datatype
        else:
            raise ValueError(f"message: expecting 2 to 4 items, got {len(message)}")
        if isinstance(count, pair):
            count, displacement = count
        return buffer, count, displacement, datatype
    if message is None or isinstance(message, (int, float, complex, str)):
        raise TypeError(f"message: expecting buffer or list/tuple, got {type(message).__name__}")
    return message, None, None, None


def _located(buffer: object, datatype: object, writable: bool):
    """Address, bytes, kind and owner of a buffer with an explicit or guessed datatype."""
    kind = None
    if datatype is not None:
        if isinstance(datatype, str):
            datatype = lookup(datatype)
        elif not isinstance(datatype, MPI.Datatype):
            raise TypeError(
                f"message: expecting a datatype or a type string, got {type(datatype).__name__}"
            )
        if datatype == MPI.DATATYPE_NULL:
            raise ValueError("message: datatype is null")
        kind = kind_of(datatype)
    if buffer is None or buffer is MPI.BOTTOM:
        if kind is None:
            raise ValueError(
                f"message: {'None' if buffer is None else 'BOTTOM'} needs an explicit datatype"
            )
        return 0, 0, kind, None
    memory, layout = _memory(buffer, writable)
    if kind is None:
        half = isinstance(layout, np.dtype) and is_half(layout)
        kind = half_kind(layout) if half else kind_of(_datatype_of(layout))
    return memory.address, memory.nbytes, kind, memory


def _entries(length: int, kind: Kind) -> int:
    """How many elements fill `length` bytes exactly."""
    if kind.extent <= 0:
        raise ValueError(
            f"message: cannot infer count, datatype extent is {kind.extent}; give the count"
        )
    if length % kind.extent:
        raise ValueError(
            f"message: cannot infer count, buffer length {length} is not a multiple of datatype "
            f"extent {kind.extent}"
        )
    return length // kind.extent


def read_message(message: object, *, writable: bool, blocks: int = 1) -> Message:
    """A simple specification; an inferred count is that of one of `blocks` equal blocks.

    Raises what mpi4py raises: TypeError, ValueError, BufferError, KeyError.
    """
    buffer, o_count, o_displ, datatype = _unpacked(message, (tuple, list))
    address, length, kind, memory = _located(buffer, datatype, writable)
    if o_displ is not None:
        displacement = index(o_displ)
        if displacement < 0:
            raise ValueError(f"message: negative displacement {displacement}")
        if displacement and kind.extent <= 0:
            raise ValueError(f"message: displacement with datatype extent {kind.extent}")
        if displacement * kind.extent > length:
            raise ValueError(
                f"message: displacement {displacement} out of bounds, number of datatype entries "
                f"{length // kind.extent}"
            )
        address += displacement * kind.extent
        length -= displacement * kind.extent
    if o_count is not None:
        count = index(o_count)
        if count < 0:
            raise fail(MPI.ERR_COUNT, f"message: negative count {count}")
        if count and buffer is None:
            raise fail(MPI.ERR_BUFFER, f"message: buffer is None but count is {count}")
        _check_room(buffer, length, kind, count * blocks)
        return Message(address, count, kind, memory)
    entries = _entries(length, kind) if length else 0
    if entries % blocks:
        raise ValueError(
            f"message: cannot infer count, number of entries {entries} is not a multiple of the "
            f"number of blocks {blocks}"
        )
    return Message(address, entries // blocks, kind, memory)


def _check_room(buffer: object, length: int, kind: Kind, count: int) -> None:
    """Refuse a count that reaches beyond its buffer, where the buffer's end is known."""
    if count and kind.dense and buffer is not MPI.BOTTOM and count * kind.size > length:
        raise ValueError(
            f"message: {count} elements of {kind.size} bytes do not fit into a buffer of "
            f"{length} bytes"
        )


def _spread(values: object, blocks: int, what: str) -> tuple[int, ...]:
    """Per-rank integers from a sequence of exactly `blocks`."""
    try:
        numbers = tuple(map(index, values))
    except TypeError:
        raise TypeError(f"message: {what} must be integers, got {values!r}") from None
    if len(numbers) != blocks:
        raise ValueError(f"message: expecting {blocks} {what}, got {len(numbers)}")
    return numbers


def read_vector(message: object, *, writable: bool, blocks: int) -> Vector:
    """A vector specification for `blocks` ranks; displacements count extents of the datatype."""
    buffer, o_counts, o_displs, datatype = _unpacked(message, tuple)
    address, length, kind, memory = _located(buffer, datatype, writable)
    if o_counts is None:
        entries = _entries(length, kind) if length else 0
        counts = tuple(entries // blocks + (entries % blocks > b) for b in range(blocks))
    elif isinstance(o_counts, Sequence) or hasattr(o_counts, "__len__"):
        counts = _spread(o_counts, blocks, "counts")
    else:
        counts = (index(o_counts),) * blocks
    if any(count < 0 for count in counts):
        raise fail(MPI.ERR_COUNT, f"message: negative count in {counts}")
    if o_displs is None:
        starts, at = [], 0
        for count in counts:
            starts.append(at)
            at += count
        displs = tuple(starts)
    elif isinstance(o_displs, Sequence) or hasattr(o_displs, "__len__"):
        displs = _spread(o_displs, blocks, "displacements")
    else:
        displs = tuple(index(o_displs) * b for b in range(blocks))
    if buffer is None and any(counts):
        raise fail(MPI.ERR_BUFFER, f"message: buffer is None but counts are {counts}")
    if kind.dense and buffer is not MPI.BOTTOM:
        for block, (count, displ) in enumerate(zip(counts, displs, strict=True)):
            if count and not 0 <= displ * kind.extent <= length - count * kind.size:
                raise ValueError(
                    f"message: block {block} ({count} elements of {kind.size} bytes at "
                    f"displacement {displ}) is not inside a buffer of {length} bytes"
                )
    offsets = tuple(displ * kind.extent for displ in displs)
    return Vector(address, counts, offsets, (kind,) * blocks, memory)


def read_vector_w(message: object, *, writable: bool, blocks: int) -> Vector:
    """A specification with a datatype per rank; displacements are in bytes."""
    if not isinstance(message, (list, tuple)) or not 2 <= len(message) <= 4:
        raise ValueError("message: expecting 2 to 4 items: buffer, counts and displacements, types")
    counts = displs = None
    if len(message) == 2:
        buffer, types = message
    elif len(message) == 3:
        buffer, (counts, displs), types = message
    else:
        buffer, counts, displs, types = message
    if buffer is MPI.BOTTOM:
        if counts is None or displs is None:
            raise ValueError("message: BOTTOM requires counts and displacements")
        address, memory = 0, None
    else:
        memory, _ = _memory(buffer, writable)
        address = memory.address
    if counts is None and displs is None:
        counts, displs = (1,) * blocks, (0,) * blocks
    counts = _spread(counts, blocks, "counts")
    displs = _spread(displs, blocks, "displacements")
    if any(count < 0 for count in counts):
        raise fail(MPI.ERR_COUNT, f"message: negative count in {counts}")
    types = list(types)
    if len(types) != blocks:
        raise ValueError(f"message: expecting {blocks} datatypes, got {len(types)}")
    kinds = tuple(kind_of(lookup(t) if isinstance(t, str) else t) for t in types)
    return Vector(address, counts, displs, kinds, memory)
