"""Local reductions: a NumPy ufunc where its result is MPI's, `MPI.Op.Reduce_local` otherwise."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
from mpi4py import MPI

from mpicoll.errors import fail
from mpicoll.execution.datatypes import Kind, kind_of
from mpicoll.execution.layout import allocate, view
from mpicoll.execution.local import copy_parts

__all__ = ["Reduction", "reduction_of"]

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


class Reduction:
    """One operation on one datatype.

    `commutative`: operands may change places. `key` identifies the pair in caches, and is None for
    user-defined operations and derived datatypes, whose handles MPI uses again.
    """

    __slots__ = ("commutative", "exchange", "key", "kind", "op", "ufunc")

    def __init__(self, op: MPI.Op, kind: Kind) -> None:
        predefined = op.is_predefined
        self.op, self.kind = op, kind
        self.commutative = op.Is_commutative()
        self.exchange = self.commutative and predefined
        self.key = (op.handle, kind.handle) if predefined and kind.handle is not None else None
        self.ufunc = None
        if predefined and kind.dtype is not None:
            ufunc, kinds = _UFUNCS.get(op.handle, (None, ""))
            if kind.dtype.kind in kinds:
                self.ufunc = ufunc
        if predefined:
            _validate(op, kind)

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
            # Named, as NumPy deprecates a third positional argument of minimum and maximum.
            return [partial(self.ufunc, *operands, out=out)]
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


def reduction_of(op: MPI.Op, kind: Kind) -> Reduction:
    """The reduction for an operation and a datatype; ArgumentError if MPI does not define it."""
    if op.is_predefined and kind.handle is not None:
        return _predefined(op.handle, kind.handle)
    return Reduction(op, kind)
