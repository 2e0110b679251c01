"""What is sent and how it is combined: elements, operations, and values that tell errors apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from mpi4py import MPI

from mpicoll.check.trace import TRACE, concatenate, traces

__all__ = [
    "Element",
    "Kind",
    "Operation",
    "gapped",
    "moving_kinds",
    "reducing_kinds",
    "traced_kind",
]

#: Modulus of the user-defined operations on numbers and matrices.
PRIME = 32749

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


def _number(name: str) -> Element:
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


# Values. Each maker takes (random, shape, dtype, size).


def full_range(random, shape, dtype, size):
    """Any value of the type."""
    if dtype.names:
        whole = np.empty(shape, dtype)
        for name in dtype.names:
            whole[name] = full_range(random, shape, dtype[name], size)
        return whole
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return rounded(random, shape, dtype, size)


def rounded(random, shape, dtype, size):
    """Numbers whose sums and products need rounding."""
    if dtype.kind == "c":
        parts = random.standard_normal((*shape, 2))
        return (parts[..., 0] + 1j * parts[..., 1]).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def summable(random, shape, dtype, size):
    """Whole numbers whose sum over all ranks is exact."""
    if dtype.kind == "c":
        real, imaginary = (random.integers(-1000, 1000, shape) for _ in "ri")
        return (real + 1j * imaginary).astype(dtype)
    if dtype.kind == "f":
        return random.integers(-1000, 1000, shape).astype(dtype)
    limits = np.iinfo(dtype)
    return random.integers(-(-limits.min // size), limits.max // size, shape, dtype, endpoint=True)


def multipliable(random, shape, dtype, size):
    """Few small numbers whose product over all ranks is exact (integers may wrap around)."""
    if dtype.kind == "u":
        choice = np.array([1, 2, 3, 5, 7])
    elif dtype.kind == "i":
        choice = np.array([1, 2, 3, -1, -2])
    else:
        choice = np.array([1, 2, 0.5, -1, -2])
        if dtype.kind == "c":
            # No product of these has a part that is nought, whose sign would depend on the order.
            choice = choice * (1 + 2j)
    return random.choice(choice, shape).astype(dtype)


def logical(random, shape, dtype, size):
    """Mostly true in every other element, mostly false in the rest: single ranks decide."""
    odd = np.arange(shape[0])[:, None] % 2
    truth = random.random(shape) < np.where(odd, 1 / size, 1 - 1 / size)
    return truth.astype(dtype) if dtype.kind == "b" else (3 * truth).astype(dtype)


def ties(random, shape, dtype, size):
    """Pairs with few different values, so that the index must decide."""
    whole = np.empty(shape, dtype)
    whole["value"] = random.integers(0, 3, shape)
    whole["index"] = random.integers(0, 1 << 20, shape)
    return whole


def residues(random, shape, dtype, size):
    """Numbers below the modulus of the user-defined operations."""
    return random.integers(0, PRIME, shape).astype(dtype)


# Operations.


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


MATRIX = Element("2x2 int32", np.dtype("i4"), (0, 4, 8, 12), 16)
_USER_ELEMENTS = [
    element for plain in (_number("int32"), MATRIX) for element in (plain, gapped(plain))
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
_LISTING = {
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

# By the kind of dtype: what MPI defines for it.
_DEFINED = {
    "i": [SUM, PROD, *EXTREMES, *LOGICAL, *BITWISE],
    "u": [SUM, PROD, *EXTREMES, *LOGICAL, *BITWISE],
    "f": [SUM, PROD, *EXTREMES, SUM_ROUNDED, PROD_ROUNDED],
    "c": [SUM, PROD, SUM_ROUNDED, PROD_ROUNDED],
    "b": LOGICAL,
}
_CLASSES = ("iu", "f", "c", "b")
_PAIRS = [_pair("int32+index", "i4", "TWOINT"), _pair("float32+index", "f4", "FLOAT_INT")]
_USER = [Kind(_number("int32"), SUM_MODULO), Kind(MATRIX, PRODUCT)]


def reducing_kinds(full: bool) -> list[Kind]:
    """Elements with operations: every pair that MPI defines, or each of either at least once."""
    located = [Kind(pair, op) for pair, op in zip(_PAIRS, LOCATIONS, strict=True)]
    kinds = []
    for group in _CLASSES:
        elements = [_number(name) for name in NUMBERS if np.dtype(name).kind in group]
        operations = _DEFINED[group[0]]
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
        located = [Kind(pair, op) for pair in _PAIRS for op in LOCATIONS]
    # Once is too little for the only operation that shows the order of operands.
    return kinds + located + _USER * (1 if full else 4)


def traced_kind(kind: Kind) -> Kind:
    """The same with elements that carry where they come from, and an operation that lists them."""
    element = Element("trace", np.dtype("u1"), tuple(range(TRACE.itemsize)), TRACE.itemsize)
    if kind.operation is None:
        return Kind(element, None, True)
    return Kind(element, _LISTING[kind.operation.commutative], True)


def moving_kinds() -> list[Kind]:
    """Elements for collectives that combine nothing."""
    return [Kind(element) for element in (*map(_number, NUMBERS), *_PAIRS, MATRIX)]
