"""The arguments of a collective call, checked, and where they put the blocks of `mpicoll.spec`.

One function per MPI operation reads mpi4py's arguments on one rank and returns a `Call`. Everything
that is wrong and visible on this rank is refused here, before any message is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mpi4py import MPI

from mpicoll.errors import fail
from mpicoll.execution.datatypes import BYTES, Kind
from mpicoll.execution.layout import (
    Part,
    allocate,
    listed,
    merge,
    nbytes_of,
    split,
    split_bytes,
)
from mpicoll.execution.local import copy_parts
from mpicoll.execution.message import (
    Message,
    Vector,
    read_message,
    read_vector,
    read_vector_w,
)
from mpicoll.execution.reduction import Average, Reduction, Stage, reduction_of
from mpicoll.steps import Plan

__all__ = ["Call", "Place", "check_root"]

Blocks = Mapping[int, Part] | Sequence[Part]
Local = list[Callable[[], object]]


class Place(NamedTuple):
    """Where blocks are: user memory by block, the size of a scratch block, copies around it all."""

    input: Blocks
    output: Blocks
    scratch: Callable[[int], tuple[int, Kind]]
    first: Local
    last: Local


@dataclass(slots=True)
class Call:
    """One collective call on one rank.

    `place(blocks, keep)` cuts the buffers into blocks; what it allocates goes to `keep`. `nbytes`
    is m, where all ranks know it, otherwise None. `fixed` is a plan and its number of blocks, for
    collectives whose plan is not an algorithm's. `key` identifies memory, layout and operation
    for caches, and is None where one of them has no lasting identity. `memory` keeps the user's
    buffers alive.
    """

    collective: str
    rank: int
    size: int
    place: Callable[[int, list], Place]
    memory: tuple
    key: tuple | None
    nbytes: int | None = None
    root: int = 0
    reduction: Reduction | None = None
    equal_blocks: bool = True
    fixed: tuple[Plan, int] | None = None

    @property
    def commutative(self) -> bool:
        """False if operands must be combined in rank order."""
        return self.reduction is None or self.reduction.commutative


def check_root(root: object, size: int) -> int:
    """The root as a number; raises what mpi4py and MPI raise for what is none."""
    if not hasattr(root, "__index__"):
        raise TypeError(f"root must be an integer, not {type(root).__name__}")
    root = root.__index__()
    if not 0 <= root < size:
        raise fail(MPI.ERR_ROOT, f"root must be in 0..{size - 1}, not {root}")
    return root


def is_in_place(buffer: object) -> bool:
    """True for MPI.IN_PLACE, and for None, which mpi4py takes for it."""
    return buffer is None or buffer is MPI.IN_PLACE


def refuse_in_place(buffer: object, what: str) -> None:
    if buffer is MPI.IN_PLACE:
        raise fail(MPI.ERR_BUFFER, f"MPI.IN_PLACE cannot be {what}")


def refuse_overlap(sent: list[Part], received: list[Part]) -> None:
    """MPI forbids aliasing; for memory with gaps only the same start is taken for it."""
    for start, count, kind in merge(sent):
        for other, other_count, other_kind in merge(received):
            if kind.dense and other_kind.dense:
                overlap = start < other + other_count and other < start + count
            else:
                overlap = start + kind.true_lb == other + other_kind.true_lb
            if overlap:
                raise fail(
                    MPI.ERR_BUFFER,
                    "send and receive buffers overlap; use MPI.IN_PLACE or separate memory",
                )


def cache_key(*items: Message | Vector | Reduction | int | None) -> tuple | None:
    """A cache key, None if a derived datatype or a user's operation is among the items."""
    key: list = []
    for item in items:
        if isinstance(item, Message):
            if item.kind.handle is None:
                return None
            key += (item.address, item.count, item.kind.handle)
        elif isinstance(item, Vector):
            handles = tuple(kind.handle for kind in item.kinds)
            if None in handles:
                return None
            key += (item.address, item.counts, item.offsets, handles)
        elif isinstance(item, Reduction):
            if item.key is None:
                return None
            key.append(item.key)
        else:
            key.append(item)
    return tuple(key)


def whole(message: Message) -> Part:
    return (message.address, message.count, message.kind)


def row(message: Message, size: int) -> list[Part]:
    """`size` consecutive blocks of `message.count` elements each."""
    step = message.count * message.kind.extent
    return [(message.address + i * step, message.count, message.kind) for i in range(size)]


def keep_alive(*messages: Message | Vector | None) -> tuple:
    return tuple(message.memory for message in messages if message is not None)


def _same_bytes(sent: Part, received: Part, who: str) -> None:
    given, room = nbytes_of([sent]), nbytes_of([received])
    if given != room:
        raise fail(
            MPI.ERR_TRUNCATE if given > room else MPI.ERR_COUNT,
            f"{who}: the block to send has {given} bytes, the block to receive {room}",
        )


class _Cutter:
    """Cuts the blocks of ranks into `share` smaller ones; blocks with gaps are cut on copies."""

    def __init__(self, share: int, keep: list) -> None:
        self.share, self.keep = share, keep
        self.first: Local = []
        self.last: Local = []

    def cut(self, parts: Mapping[int, Part], read: set[int], written: set[int]) -> dict[int, Part]:
        """The smaller blocks; copies are filled if `read` and emptied if `written`."""
        if self.share == 1:
            return dict(parts)
        cut = {}
        for block, part in parts.items():
            address, nbytes = part[0], nbytes_of([part])
            if not part[2].dense:
                memory, address = allocate(nbytes)
                self.keep.append(memory)
                copy = [(address, nbytes, BYTES)]
                if block in read:
                    self.first += copy_parts([part], copy, self.keep)
                if block in written:
                    self.last += copy_parts(copy, [part], self.keep)
            for piece, smaller in enumerate(split_bytes(address, nbytes, self.share)):
                cut[block * self.share + piece] = smaller
        return cut


def _scratch_of(sizes: Callable[[int], int], share: int) -> Callable[[int], tuple[int, Kind]]:
    """Scratch for block b of rank b // share, whose whole block has `sizes(rank)` bytes."""
    if share == 1:
        return lambda block: (sizes(block), BYTES)
    return lambda block: (
        split_bytes(0, sizes(block // share), share)[block % share][1],
        BYTES,
    )


def _moving(
    size: int, sent: Mapping[int, Part], received: Mapping[int, Part], sizes: Callable[[int], int]
) -> Callable[[int, list], Place]:
    """`place` for collectives that move whole blocks of ranks."""

    def place(blocks: int, keep: list) -> Place:
        cutter = _Cutter(blocks // size, keep)
        # In place, a block is one memory for both, and stays as it is.
        both = {block for block in sent if sent[block] == received.get(block)}
        output = cutter.cut(received, both, set(received) - both)
        apart = {block: part for block, part in sent.items() if block not in both}
        into = cutter.cut(apart, set(apart), set())
        into |= {block: part for block, part in output.items() if block // cutter.share in both}
        return Place(into, output, _scratch_of(sizes, cutter.share), cutter.first, cutter.last)

    return place


def barrier(rank: int, size: int) -> Call:
    """Barrier has no buffers."""
    place = Place({}, {}, lambda block: (0, BYTES), [], [])
    return Call("barrier", rank, size, lambda blocks, keep: place, (), (), 0)


def bcast(rank: int, size: int, buf: object, root: object) -> Call:
    """`buf` is read at the root and written elsewhere; the bytes must be as many everywhere."""
    root = check_root(root, size)
    refuse_in_place(buf, "the buffer of Bcast")
    message = read_message(buf, writable=rank != root)
    original = [whole(message)]
    nbytes = nbytes_of(original)

    def place(blocks: int, keep: list) -> Place:
        first: Local = []
        last: Local = []
        if blocks == 1:
            parts, start = original, 0
        elif message.kind.dense:
            parts, start = None, message.address
        else:
            memory, start = allocate(nbytes)
            keep.append(memory)
            parts, staged = None, [(start, nbytes, BYTES)]
            if rank == root:
                first = copy_parts(original, staged, keep)
            else:
                last = copy_parts(staged, original, keep)
        cut = split_bytes(start, nbytes, blocks)
        return Place({}, parts or cut, lambda block: (cut[block][1], BYTES), first, last)

    return Call(
        "bcast", rank, size, place, keep_alive(message), cache_key(message, root), nbytes, root=root
    )


def scatter(rank: int, size: int, sendbuf: object, recvbuf: object, root: object, v: bool) -> Call:
    """`sendbuf` counts at the root only; the root's `recvbuf` may be IN_PLACE."""
    root = check_root(root, size)
    send = receive = None
    sent: dict[int, Part] = {}
    received: dict[int, Part] = {}
    if rank == root:
        refuse_in_place(sendbuf, "the send buffer of Scatter")
        if v:
            send = read_vector(sendbuf, writable=False, blocks=size)
            sent = dict(enumerate(listed(send)))
        else:
            send = read_message(sendbuf, writable=False, blocks=size)
            sent = dict(enumerate(row(send, size)))
        received = {rank: sent[rank]}
    else:
        refuse_in_place(recvbuf, "the receive buffer of a rank that is not the root")
    if rank != root or not is_in_place(recvbuf):
        receive = read_message(recvbuf, writable=True)
        received = {rank: whole(receive)}
    if rank == root and receive is not None:
        _same_bytes(sent[rank], received[rank], "the root's own block")
        refuse_overlap(list(sent.values()), list(received.values()))
    own = nbytes_of([received[rank]])
    return Call(
        "scatter",
        rank,
        size,
        _moving(size, sent, received, lambda block: own),
        keep_alive(send, receive),
        cache_key(send, receive, root, v),
        None if v else own * size,
        root=root,
        equal_blocks=not v,
    )


def gather(rank: int, size: int, sendbuf: object, recvbuf: object, root: object, v: bool) -> Call:
    """`recvbuf` counts at the root only; the root's `sendbuf` may be IN_PLACE."""
    root = check_root(root, size)
    send = receive = None
    sent: dict[int, Part] = {}
    received: dict[int, Part] = {}
    if rank == root:
        refuse_in_place(recvbuf, "the receive buffer of Gather")
        if v:
            receive = read_vector(recvbuf, writable=True, blocks=size)
            received = dict(enumerate(listed(receive)))
        else:
            receive = read_message(recvbuf, writable=True, blocks=size)
            received = dict(enumerate(row(receive, size)))
        sent = {rank: received[rank]}
    else:
        refuse_in_place(sendbuf, "the send buffer of a rank that is not the root")
    if rank != root or not is_in_place(sendbuf):
        send = read_message(sendbuf, writable=False)
        sent = {rank: whole(send)}
    if rank == root and send is not None:
        _same_bytes(sent[rank], received[rank], "the root's own block")
        refuse_overlap(list(sent.values()), list(received.values()))
    own = nbytes_of([sent[rank]])
    return Call(
        "gather",
        rank,
        size,
        _moving(size, sent, received, lambda block: own),
        keep_alive(send, receive),
        cache_key(send, receive, root, v),
        None if v else own * size,
        root=root,
        equal_blocks=not v,
    )


def allgather(rank: int, size: int, sendbuf: object, recvbuf: object, v: bool) -> Call:
    """`sendbuf` may be IN_PLACE: the rank's block is then in `recvbuf` already."""
    refuse_in_place(recvbuf, "the receive buffer of Allgather")
    if v:
        receive = read_vector(recvbuf, writable=True, blocks=size)
        received = dict(enumerate(listed(receive)))
    else:
        receive = read_message(recvbuf, writable=True, blocks=size)
        received = dict(enumerate(row(receive, size)))
    send = None
    sent = {rank: received[rank]}
    if not is_in_place(sendbuf):
        send = read_message(sendbuf, writable=False)
        sent = {rank: whole(send)}
        _same_bytes(sent[rank], received[rank], f"block {rank}")
        refuse_overlap(list(sent.values()), list(received.values()))
    sizes = [nbytes_of([received[block]]) for block in range(size)]
    return Call(
        "allgather",
        rank,
        size,
        _moving(size, sent, received, sizes.__getitem__),
        keep_alive(send, receive),
        cache_key(send, receive, v),
        sum(sizes),
        equal_blocks=len(set(sizes)) == 1,
    )


def alltoall(rank: int, size: int, sendbuf: object, recvbuf: object, form: str = "") -> Call:
    """`form` is "", "v" or "w"; in place, blocks are sent from a copy of `recvbuf`."""
    refuse_in_place(recvbuf, f"the receive buffer of Alltoall{form}")
    receive, received = exchanged(recvbuf, size, form, writable=True)
    in_place = is_in_place(sendbuf)
    send, sent = None, received
    if not in_place:
        send, sent = exchanged(sendbuf, size, form, writable=False)
        _same_bytes(sent[rank], received[rank], f"block {rank}, which stays on its rank")
        refuse_overlap(list(sent.values()), list(received.values()))
    own = nbytes_of([received[rank]])
    moving = _moving(size, sent, received, lambda block: own)

    def place(blocks: int, keep: list) -> Place:
        if not in_place:
            return moving(blocks, keep)
        first: Local = []
        copies = {}
        for block, part in received.items():
            nbytes = nbytes_of([part])
            memory, start = allocate(nbytes)
            keep.append(memory)
            copies[block] = (start, nbytes, BYTES)
            first += copy_parts([part], [copies[block]], keep)
        inner = _moving(size, copies, received, lambda block: own)(blocks, keep)
        return inner._replace(first=first + inner.first)

    return Call(
        "alltoall",
        rank,
        size,
        place,
        keep_alive(send, receive),
        cache_key(send, receive),
        None if form else own * size,
        equal_blocks=not form,
    )


def exchanged(
    buffer: object, size: int, form: str, writable: bool
) -> tuple[Message | Vector, dict[int, Part]]:
    if form:
        read = read_vector_w if form == "w" else read_vector
        vector = read(buffer, writable=writable, blocks=size)
        return vector, dict(enumerate(listed(vector)))
    message = read_message(buffer, writable=writable, blocks=max(1, size))
    return message, dict(enumerate(row(message, size)))


def _check_op(op: object) -> None:
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
    _check_op(op)
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
    address, count, kind = sent

    def place(blocks: int, keep: list) -> Place:
        stage = Stage(reduction, size, keep)
        wide = reduction.kind if reduction.narrow is not None else kind
        cut = split(stage.source(address, count), count, wide, blocks)
        out = {}
        if received is not None:
            out = split(stage.result(received[0], count), count, wide, blocks)
        return Place(cut, out, lambda block: (cut[block][1], wide), stage.first, stage.last)

    return Call(
        collective,
        rank,
        size,
        place,
        keep_alive(send, receive),
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
    _check_op(op)
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
        stage = Stage(reduction, size, keep)
        wide = reduction.kind if reduction.narrow is not None else kind
        cut: list[Part] = []
        at = stage.source(base, sum(counts))
        for count in counts:
            cut += split(at, count, wide, share)
            at += count * wide.extent
        start, back = receive.address, []
        if send is None:
            memory, start = allocate(kind.span(own))
            keep.append(memory)
            start -= kind.true_lb
            back = copy_parts([(start, own, kind)], [target], keep)
        out = split(stage.result(start, own), own, wide, share)
        output = {rank * share + piece: part for piece, part in enumerate(out)}
        last = stage.last + back
        return Place(cut, output, lambda block: (cut[block][1], wide), stage.first, last)

    return Call(
        "reduce_scatter",
        rank,
        size,
        place,
        keep_alive(send, receive),
        cache_key(send, receive, reduction, *counts),
        sum(counts) * kind.size,
        reduction=reduction,
        equal_blocks=len(set(counts)) == 1,
    )
