"""Type signatures: what MPI asks sender and receiver of a message to agree on.

The signature is the row of predefined types in a message, whatever its layout (MPI 4.1, section
5.1.1). It is kept as the shortest row of which it is a repetition, and how often: four doubles are
``("float64",), 4``, and so are two elements of a contiguous type of two doubles.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from mpi4py import MPI

from mpicoll.execution.datatypes import Kind
from mpicoll.execution.message import Message, Vector

__all__ = ["Signature", "parts", "signature", "total"]

#: Longest row of a derived datatype that is looked at; longer ones are compared by their bytes.
LONGEST = 4096

Row = tuple[str, ...]


class Signature(NamedTuple):
    """`count` repetitions of a row of types, in words ("int32,float64")."""

    types: str
    count: int


def signature(kind: Kind, count: int) -> Signature:
    """That of `count` elements of a datatype; no types if there are none."""
    if count == 0:
        return Signature("", 0)
    if kind.handle is not None:
        return Signature(_name(kind), count)
    row = _row(kind.datatype)
    if row is None:
        return Signature("bytes of derived types", count * kind.size)
    if not row:
        return Signature("", 0)
    period = _period(row)
    return Signature(",".join(row[:period]), count * len(row) // period)


def total(message: Message) -> Signature:
    """That of a whole message."""
    return signature(message.kind, message.count)


def parts(vector: Vector) -> list[Signature]:
    """One for each rank of a vector specification."""
    return [signature(kind, count) for kind, count in zip(vector.kinds, vector.counts, strict=True)]


def _name(kind: Kind) -> str:
    """NumPy's name where there is one: MPI has several names for the same numbers."""
    if kind.dtype is not None and kind.datatype != MPI.BYTE:
        return kind.dtype.name
    return _mpi_name(kind.handle)


@lru_cache(maxsize=256)
def _mpi_name(handle: int) -> str:
    return MPI.Datatype.fromhandle(handle).Get_name().removeprefix("MPI_")


@lru_cache(maxsize=256)
def _basic(handle: int) -> str:
    from mpicoll.execution.datatypes import kind_of

    return _name(kind_of(MPI.Datatype.fromhandle(handle)))


def _row(datatype: MPI.Datatype) -> Row | None:
    """The predefined types of one element in order; None if they are too many."""
    if datatype.is_predefined:
        return (_basic(datatype.handle),)
    base, combiner, how = datatype.decode()
    if combiner == "STRUCT":
        inner = list(zip(how["datatypes"], how["blocklengths"], strict=True))
    else:
        inner = [(base, _repetitions(combiner, how))]
    row: Row | None = ()
    for part, times in inner:
        own = _row(part) if row is not None else None
        fits = own is not None and len(row) + len(own) * times <= LONGEST
        row = row + own * times if fits else None
        if not part.is_predefined:
            part.Free()
    return row


def _repetitions(combiner: str, how: dict) -> int | float:
    """How often the base type is in a derived one; infinite for what is not known."""
    if combiner in ("DUP", "RESIZED"):
        return 1
    if combiner == "CONTIGUOUS":
        return how["count"]
    if combiner in ("VECTOR", "HVECTOR"):
        return how["count"] * how["blocklength"]
    if combiner in ("INDEXED", "HINDEXED"):
        return sum(how["blocklengths"])
    if combiner in ("INDEXED_BLOCK", "HINDEXED_BLOCK"):
        return how["blocklength"] * len(how["displacements"])
    if combiner == "SUBARRAY":
        product = 1
        for size in how["subsizes"]:
            product *= size
        return product
    return float("inf")


def _period(row: Row) -> int:
    """The length of the shortest row of which this one is a repetition.

    >>> _period(("i", "d", "i", "d")), _period(("i", "d", "i")), _period(("d",) * 6)
    (2, 3, 1)
    """
    # The longest proper prefix that is a suffix too, as in Knuth, Morris and Pratt.
    border = [0] * len(row)
    for at in range(1, len(row)):
        length = border[at - 1]
        while length and row[length] != row[at]:
            length = border[length - 1]
        border[at] = length + (row[length] == row[at])
    period = len(row) - border[-1]
    return period if len(row) % period == 0 else len(row)
