"""Local reductions: a NumPy ufunc where its result is MPI's, `MPI.Op.Reduce_local` otherwise."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
from mpi4py import MPI

from mpicoll.errors import fail
from mpicoll.execution.datatypes import Kind, is_half, kind_of
from mpicoll.execution.layout import allocate, view
from mpicoll.execution.local import copy_parts

__all__ = ["AVG", "Average", "Reduction", "Stage", "reduction_of"]

#: Operation -> (ufunc, kinds of dtype for which it gives MPI's result, and faster).
#: Minimum and maximum differ from MPI in one respect: NaN, whose treatment MPI leaves open,
#: propagates always, so that results do not depend on the order of operands.
_UFUNCS: dict[int, tuple[np.ufunc, str]] = {
    MPI.SUM.handle: (np.add, "iufc"),
    MPI.PROD.handle: (np.multiply, "iuf"),
    MPI.MAX.handle: (np.maximum, "iuf"),
    MPI.MIN.handle: (np.minimum, "iuf"),
    MPI.BAND.handle: (np.bitwise_and, "iu"),
    MPI.BOR.handle: (np.bitwise_or, "iu"),
    MPI.BXOR.handle: (np.bitwise_xor, "iu"),
    MPI.LAND.handle: (np.logical_and, "b"),
    MPI.LOR.handle: (np.logical_or, "b"),
    MPI.LXOR.handle: (np.not_equal, "b"),
}


class Average:
    """The operation `mpicoll.AVG`: the sum divided by the number of ranks.

    For floating-point and complex types, in Reduce, Allreduce and Reduce_scatter(_block). MPI has
    no such operation; gradients of data-parallel training are averaged with it.
    """

    def __repr__(self) -> str:
        return "mpicoll.AVG"


AVG = Average()


class Reduction:
    """One operation on one datatype.

    `commutative`: operands may change places. `key` identifies the pair in caches, and is None for
    user-defined operations and derived datatypes, whose handles MPI uses again. `average`: results
    are to be divided by the number of ranks. `narrow` is the kind of the user's numbers if they are
    combined as wider ones, of `kind`.
    """

    __slots__ = ("average", "commutative", "exchange", "key", "kind", "narrow", "op", "ufunc")

    def __init__(
        self, op: MPI.Op, kind: Kind, narrow: Kind | None = None, average: bool = False
    ) -> None:
        self.narrow, self.average = narrow, average
        predefined = op.is_predefined
        self.op, self.kind = op, kind
        self.commutative = op.Is_commutative()
        self.exchange = self.commutative and predefined
        self.key = None
        if predefined and kind.handle is not None:
            self.key = (op.handle, kind.handle, average)
        self.ufunc = None
        if predefined and kind.dtype is not None:
            ufunc, kinds = _UFUNCS.get(op.handle, (None, ""))
            if kind.dtype.kind in kinds:
                self.ufunc = ufunc
        if predefined:
            _validate(op, kind)

    def wide(self, kind: Kind) -> Kind:
        """The kind in which numbers of the user's `kind` are combined."""
        return kind if self.narrow is None else self.kind

    def combine(
        self, left: int, right: int, into: int, count: int, right_is_dead: bool, keep: list
    ) -> list[Callable[[], object]]:
        """The calls that store ``left op right`` in `into`; operands are addresses.

        `right_is_dead`: the right operand may be spoilt. Scratch is appended to `keep`.
        """
        if count == 0:
            return []
        if self.ufunc is not None:
            *operands, out = (self._array(address, count) for address in (left, right, into))
            if self.ufunc in (np.maximum, np.minimum):
                # NumPy deprecates their third positional argument, which is twice as fast.
                return [partial(self.ufunc, *operands, out=out)]
            return [partial(self.ufunc, *operands, out)]
        if into == right:
            return [self._local(left, right, count)]
        if into == left and self.exchange:
            return [self._local(right, left, count)]
        if into != left:
            return [*self._copy(right, into, count), self._local(left, into, count)]
        calls = []
        if not right_is_dead:
            spare = self._scratch(count, keep)
            calls += self._copy(right, spare, count)
            right = spare
        return [*calls, self._local(left, right, count), *self._copy(right, into, count)]

    def _array(self, address: int, count: int) -> np.ndarray:
        return np.frombuffer(view(address, count * self.kind.size), self.kind.dtype)

    def _spec(self, address: int, count: int) -> list:
        memory = view(address, max(1, self.kind.span(count))) if address else MPI.BOTTOM
        return [memory, count, self.kind.datatype]

    def _local(self, source: int, target: int, count: int) -> Callable[[], object]:
        return partial(self.op.Reduce_local, self._spec(source, count), self._spec(target, count))

    def _scratch(self, count: int, keep: list) -> int:
        memory, address = allocate(self.kind.span(count))
        keep.append(memory)
        return address - self.kind.true_lb

    def _copy(self, source: int, target: int, count: int) -> list[Callable[[], object]]:
        return copy_parts([(source, count, self.kind)], [(target, count, self.kind)], [])


def _validate(op: MPI.Op, kind: Kind) -> None:
    """Refuse what MPI refuses: a predefined operation on a type that it is not defined for."""
    if not _accepted(op, kind) if kind.handle is None else not _known(op.handle, kind.handle):
        name = kind.datatype.Get_name() or "a derived datatype"
        raise fail(MPI.ERR_OP, f"MPI.{_op_name(op)} is not defined for {name}")


def _op_name(op: MPI.Op) -> str:
    return next(
        name for name, value in vars(MPI).items() if isinstance(value, MPI.Op) and value == op
    )


def _accepted(op: MPI.Op, kind: Kind) -> bool:
    left, right = (np.zeros(max(1, kind.span(1)) + 64, np.uint8) for _ in range(2))
    specs = (
        [view(memory.ctypes.data - min(0, kind.true_lb), 1), 1, kind.datatype]
        for memory in (left, right)
    )
    try:
        op.Reduce_local(*specs)
    except MPI.Exception:
        return False
    return True


@lru_cache(maxsize=1024)
def _known(op: int, datatype: int) -> bool:
    return _accepted(MPI.Op.fromhandle(op), _kind(datatype))


def _kind(datatype: int) -> Kind:
    return kind_of(MPI.Datatype.fromhandle(datatype))


@lru_cache(maxsize=256)
def _predefined(op: int, datatype: int) -> Reduction:
    return Reduction(MPI.Op.fromhandle(op), _kind(datatype))


def reduction_of(op: MPI.Op | Average, kind: Kind) -> Reduction:
    """The reduction for an operation and a datatype; ArgumentError if it is not defined."""
    average = isinstance(op, Average)
    if average:
        if kind.dtype is None or not (kind.dtype.kind in "fc" or is_half(kind.dtype)):
            raise fail(MPI.ERR_OP, f"{op} is for floating-point and complex numbers")
        op = MPI.SUM
    if is_half(kind.dtype) and op.is_predefined:
        if op not in (MPI.SUM, MPI.PROD, MPI.MAX, MPI.MIN):
            raise fail(MPI.ERR_OP, f"MPI.{_op_name(op)} is not defined for {kind.dtype}")
        return Reduction(op, kind_of(MPI.FLOAT), narrow=kind, average=average)
    if not average and op.is_predefined and kind.handle is not None:
        return _predefined(op.handle, kind.handle)
    return Reduction(op, kind, average=average)


class Stage:
    """What surrounds a reduction: numbers are widened before it, divided and narrowed after it."""

    def __init__(self, reduction: Reduction, size: int, keep: list) -> None:
        self.reduction, self.size, self.keep = reduction, size, keep
        self.first: list[Callable[[], object]] = []
        self.last: list[Callable[[], object]] = []

    def source(self, address: int, count: int) -> int:
        """The address of the operands, widened if they must be."""
        if self.reduction.narrow is None:
            return address
        wide, start = self._wide(count)
        self.first.append(partial(np.copyto, wide, self._narrow(address, count)))
        return start

    def result(self, address: int, count: int) -> int:
        """The address for results that are to end at `address`."""
        start = address
        wide = None
        if self.reduction.narrow is not None:
            wide, start = self._wide(count)
        if self.reduction.average and count:
            kind = self.reduction.kind
            numbers = np.frombuffer(view(start, count * kind.size), kind.dtype)
            if kind.dtype.kind == "c":  # part by part, which is exact to the last bit
                numbers = numbers.view(numbers.real.dtype)
            self.last.append(partial(np.divide, numbers, self.size, numbers))
        if wide is not None:
            narrow = self._narrow(address, count)
            self.last.append(partial(np.copyto, narrow, wide, casting="unsafe"))
        return start

    def _wide(self, count: int) -> tuple[np.ndarray, int]:
        kind = self.reduction.kind
        memory, start = allocate(count * kind.size)
        self.keep.append(memory)
        return np.frombuffer(view(start, count * kind.size), kind.dtype), start

    def _narrow(self, address: int, count: int) -> np.ndarray:
        dtype = self.reduction.narrow.dtype
        return np.frombuffer(view(address, count * 2), np.uint16).view(dtype)
