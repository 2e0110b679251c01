"""Readers of the collectives that combine vectors, and what surrounds their arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mpi4py import MPI

from mpicoll.errors import fail
from mpicoll.execution.calls import (
    Blocks,
    Call,
    Place,
    cache_key,
    check_root,
    is_in_place,
    refuse_in_place,
    refuse_overlap,
    whole,
)
from mpicoll.execution.datatypes import Kind
from mpicoll.execution.layout import Part, allocate, split
from mpicoll.execution.local import copy_parts
from mpicoll.execution.message import Message, read_message
from mpicoll.execution.reduction import Average, Reduction, Stage, reduction_of

__all__ = [
    "allreduce",
    "by_counts",
    "check_op",
    "exscan",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "vectors",
]

#: From the address, count and kind of a vector to its blocks.
Cut = Callable[[int, int, Kind], Blocks]


def check_op(op: object) -> None:
    """Raise TypeError or ArgumentError for what is no operation."""
    if not isinstance(op, (MPI.Op, Average)):
        raise TypeError(f"op must be an MPI.Op or mpicoll.AVG, not {type(op).__name__}")
    if op == MPI.OP_NULL:
        raise fail(MPI.ERR_OP, "the operation is MPI.OP_NULL")


def _operands(
    sendbuf: object, recvbuf: object, op: object, receives: bool, blocks: int = 1
) -> tuple[Message | None, Message | None, Reduction]:
    """Send and receive message (None if in place, or if nothing is received) and the reduction.

    `blocks`: the send buffer has this many blocks of the receive buffer's count.
    """
    check_op(op)
    send = receive = None
    if receives:
        refuse_in_place(recvbuf, "the receive buffer of a reduction")
        inner = blocks if is_in_place(sendbuf) else 1
        receive = read_message(recvbuf, writable=True, blocks=inner)
    if not is_in_place(sendbuf):
        send = read_message(sendbuf, writable=False, blocks=blocks)
    elif not receives:
        raise fail(MPI.ERR_BUFFER, "MPI.IN_PLACE is for the root only")
    if send is not None and receive is not None:
        if send.kind.original != receive.kind.original:
            raise ValueError(
                f"mismatch in send and receive MPI datatypes: {_name(send)} and {_name(receive)}"
            )
        if send.count != receive.count:
            raise ValueError(
                f"mismatch in send count {send.count} and receive count {receive.count}"
            )
    kind = (receive if send is None else send).kind
    return send, receive, reduction_of(op, kind)


def vectors(
    reduction: Reduction,
    ranks: int,
    source: tuple[Part, Cut] | None,
    target: tuple[Part, Cut] | None,
) -> Callable[[list], Place]:
    """Where the operands and the results of a reduction are, each with the way to cut it up.

    Operands are widened and results divided by `ranks` and narrowed where the reduction asks for
    it. A scratch block is like one of the operands, or of the results where there are none.
    """

    def place(keep: list) -> Place:
        stage = Stage(reduction, ranks, keep)
        operands: Blocks = []
        results: Blocks = []
        if source is not None:
            (address, count, kind), cut = source
            operands = cut(stage.source(address, count), count, reduction.wide(kind))
        if target is not None:
            (address, count, kind), cut = target
            results = cut(stage.result(address, count), count, reduction.wide(kind))
        like = operands or results
        return Place(operands, results, lambda block: like[block][1:], stage.first, stage.last)

    return place


def by_counts(counts: Sequence[int], share: int = 1) -> Cut:
    """The way to cut a vector into a block of each count, and those into `share` parts each."""

    def cut(address: int, _: int, kind: Kind) -> list[Part]:
        parts: list[Part] = []
        for count in counts:
            parts += split(address, count, kind, share)
            address += count * kind.extent
        return parts

    return cut


def _name(message: Message) -> str:
    return message.kind.datatype.Get_name() or "a derived datatype"


def _reducing(
    collective: str,
    rank: int,
    size: int,
    sendbuf: object,
    recvbuf: object,
    op: object,
    root: int | None = None,
) -> Call:
    """A reduction of whole vectors; only the root receives if there is one."""
    if isinstance(op, Average) and collective in ("scan", "exscan"):
        raise fail(MPI.ERR_OP, f"{op} has no meaning in {collective}")
    receives = root is None or rank == root
    send, receive, reduction = _operands(sendbuf, recvbuf, op, receives)
    sent = whole(send if send is not None else receive)
    received = whole(receive) if receive is not None else None
    if send is not None and received is not None:
        refuse_overlap([sent], [received])
    _, count, kind = sent

    def place(blocks: int, keep: list) -> Place:
        def cut(address: int, count: int, kind: Kind) -> list[Part]:
            return split(address, count, kind, blocks)

        target = (received, cut) if received is not None else None
        return vectors(reduction, size, (sent, cut), target)(keep)

    return Call(
        collective,
        rank,
        size,
        place,
        (send, receive),
        cache_key(send, receive, reduction, root),
        count * kind.size,
        root=root or 0,
        reduction=reduction,
    )


def reduce(
    rank: int, size: int, sendbuf: object, recvbuf: object, op: object, root: object
) -> Call:
    """`recvbuf` counts at the root only; the root's `sendbuf` may be IN_PLACE."""
    return _reducing("reduce", rank, size, sendbuf, recvbuf, op, check_root(root, size))


def allreduce(rank: int, size: int, sendbuf: object, recvbuf: object, op: object) -> Call:
    """`sendbuf` may be IN_PLACE."""
    return _reducing("allreduce", rank, size, sendbuf, recvbuf, op)


def scan(rank: int, size: int, sendbuf: object, recvbuf: object, op: object) -> Call:
    """`sendbuf` may be IN_PLACE."""
    return _reducing("scan", rank, size, sendbuf, recvbuf, op)


def exscan(rank: int, size: int, sendbuf: object, recvbuf: object, op: object) -> Call:
    """`sendbuf` may be IN_PLACE; rank 0's `recvbuf` is not written."""
    return _reducing("exscan", rank, size, sendbuf, recvbuf, op)


def reduce_scatter_block(
    rank: int, size: int, sendbuf: object, recvbuf: object, op: object
) -> Call:
    """In place, `recvbuf` holds all blocks, and the result goes to its start."""
    send, receive, reduction = _operands(sendbuf, recvbuf, op, True, blocks=size)
    return _scattered(rank, size, send, receive, reduction, (receive.count,) * size)


def reduce_scatter(
    rank: int,
    size: int,
    sendbuf: object,
    recvbuf: object,
    counts: Sequence[int],
    op: object,
) -> Call:
    """`counts` are elements per rank, on every rank the same."""
    counts = tuple(int(count) for count in counts)
    if len(counts) != size:
        raise ValueError(f"expecting {size} receive counts, got {len(counts)}")
    if any(count < 0 for count in counts):
        raise fail(MPI.ERR_COUNT, f"negative receive count in {counts}")
    check_op(op)
    refuse_in_place(recvbuf, "the receive buffer of a reduction")
    receive = read_message(recvbuf, writable=True)
    send = None
    total = sum(counts)
    if is_in_place(sendbuf):
        if receive.count != total:
            raise ValueError(f"mismatch in receive count {receive.count} and sum(counts) {total}")
    else:
        send = read_message(sendbuf, writable=False)
        if send.kind.original != receive.kind.original:
            raise ValueError(
                f"mismatch in send and receive MPI datatypes: {_name(send)} and {_name(receive)}"
            )
        if send.count != total:
            raise ValueError(f"mismatch in send count {send.count} and sum(counts) {total}")
        if receive.count != counts[rank]:
            raise ValueError(
                f"mismatch in receive count {receive.count} and counts[{rank}] {counts[rank]}"
            )
    return _scattered(rank, size, send, receive, reduction_of(op, receive.kind), counts)


def _scattered(
    rank: int,
    size: int,
    send: Message | None,
    receive: Message,
    reduction: Reduction,
    counts: tuple[int, ...],
) -> Call:
    kind, own = receive.kind, counts[rank]
    base = receive.address if send is None else send.address
    target = (receive.address, own, kind)
    if send is not None:
        refuse_overlap([(base, sum(counts), kind)], [target])

    def place(blocks: int, keep: list) -> Place:
        share = blocks // size
        start, back = receive.address, []
        if send is None:
            memory, start = allocate(kind.span(own))
            keep.append(memory)
            start -= kind.true_lb
            back = copy_parts([(start, own, kind)], [target], keep)

        def own_blocks(address: int, count: int, kind: Kind) -> dict[int, Part]:
            return {
                rank * share + piece: part
                for piece, part in enumerate(split(address, count, kind, share))
            }

        source = (base, sum(counts), kind), by_counts(counts, share)
        placed = vectors(reduction, size, source, ((start, own, kind), own_blocks))(keep)
        return placed._replace(last=placed.last + back)

    return Call(
        "reduce_scatter",
        rank,
        size,
        place,
        (send, receive),
        cache_key(send, receive, reduction, *counts),
        sum(counts) * kind.size,
        reduction=reduction,
        equal_blocks=len(set(counts)) == 1,
        counts=counts,
    )
