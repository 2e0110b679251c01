"""Readers of the collectives that move blocks: who sends what from where, received where."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mpi4py import MPI

from mpicoll.errors import fail
from mpicoll.execution.calls import (
    Call,
    Local,
    Place,
    cache_key,
    check_root,
    exchanged,
    is_in_place,
    refuse_in_place,
    refuse_overlap,
    whole,
)
from mpicoll.execution.datatypes import BYTES, Kind
from mpicoll.execution.layout import (
    Part,
    allocate,
    nbytes_of,
    split_bytes,
)
from mpicoll.execution.local import copy_parts
from mpicoll.execution.message import read_message

__all__ = ["allgather", "alltoall", "barrier", "bcast", "gather", "scatter"]


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

    buffers = (message, None) if rank == root else (None, message)
    return Call("bcast", rank, size, place, buffers, cache_key(message, root), nbytes, root=root)


def scatter(rank: int, size: int, sendbuf: object, recvbuf: object, root: object, v: bool) -> Call:
    """`sendbuf` counts at the root only; the root's `recvbuf` may be IN_PLACE."""
    return _rooted("scatter", rank, size, sendbuf, recvbuf, root, v)


def gather(rank: int, size: int, sendbuf: object, recvbuf: object, root: object, v: bool) -> Call:
    """`recvbuf` counts at the root only; the root's `sendbuf` may be IN_PLACE."""
    return _rooted("gather", rank, size, recvbuf, sendbuf, root, v)


def _rooted(
    name: str, rank: int, size: int, all_blocks: object, own_block: object, root: object, v: bool
) -> Call:
    """Scatter and gather: the root has a block for every rank, and every rank has its own."""
    scatters = name == "scatter"
    root = check_root(root, size)
    outer = inner = None
    every: dict[int, Part] = {}
    if rank == root:
        which = "send buffer of Scatter" if scatters else "receive buffer of Gather"
        refuse_in_place(all_blocks, f"the {which}")
        outer, every = exchanged(all_blocks, size, "v" * v, writable=not scatters)
        own = every[rank]
    else:
        which = "receive" if scatters else "send"
        refuse_in_place(own_block, f"the {which} buffer of a rank that is not the root")
    if rank != root or not is_in_place(own_block):
        inner = read_message(own_block, writable=scatters)
        own = whole(inner)
    sides = (every, {rank: own})
    messages = (outer, inner)
    sent, received = sides if scatters else sides[::-1]
    if rank == root and inner is not None:
        _same_bytes(sent[rank], received[rank], "the root's own block")
        refuse_overlap(list(sent.values()), list(received.values()))
    nbytes = nbytes_of([own])
    return Call(
        name,
        rank,
        size,
        _moving(size, sent, received, lambda block: nbytes),
        messages if scatters else messages[::-1],
        cache_key(*messages, root, v),
        None if v else nbytes * size,
        root=root,
        equal_blocks=not v,
    )


def allgather(rank: int, size: int, sendbuf: object, recvbuf: object, v: bool) -> Call:
    """`sendbuf` may be IN_PLACE: the rank's block is then in `recvbuf` already."""
    refuse_in_place(recvbuf, "the receive buffer of Allgather")
    receive, received = exchanged(recvbuf, size, "v" * v, writable=True)
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
        (send, receive),
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
        (send, receive),
        cache_key(send, receive),
        None if form else own * size,
        equal_blocks=not form,
    )
