"""Where the inputs and outputs of each call lie in a rank's buffers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from mpicoll.check.elements import Element, gapped
from mpicoll.check.memory import Slot

if TYPE_CHECKING:
    from mpicoll.check.cases import Call

__all__ = ["Layout", "bcast", "collect", "deal", "exchange", "split", "unequal", "whole"]


class Layout(NamedTuple):
    """One rank's part in a call.

    `send` and `receive` are the slots of the two buffers, which every rank gets, also where MPI
    ignores them; `inputs` and `own` the slots in them that hold this rank's inputs, `outputs` the
    slots of the receive buffer that the call must fill. The flags put MPI.IN_PLACE for a buffer.
    """

    send: tuple[Slot, ...] = ()
    receive: tuple[Slot, ...] = ()
    inputs: tuple[Slot, ...] = ()
    own: tuple[Slot, ...] = ()
    outputs: tuple[Slot, ...] = ()
    send_in_place: bool = False
    receive_in_place: bool = False


def unequal(block: int, count: int) -> int:
    """The size of a block in the calls with counts per rank, some of them empty.

    No block is longer than all before it together, except the first: in place, MPICH 5.0's own
    Reduce_scatter aborts where a long block overlaps the place that its result goes to.
    """
    return (count + 1, 0, count, 2 * count, 1)[block % 5] if count else 0


def _run(element: Element, counts: Sequence[int]) -> tuple[Slot, ...]:
    """Blocks one after the other."""
    starts = [sum(counts[:block]) for block in range(len(counts))]
    return tuple(
        Slot(element, start * element.extent, n) for start, n in zip(starts, counts, strict=True)
    )


def _scattered(element: Element, counts: Sequence[int]) -> tuple[Slot, ...]:
    """Blocks in reverse order, with a gap of one element after each."""
    starts = [sum(n + 1 for n in counts[block + 1 :]) for block in range(len(counts))]
    return tuple(
        Slot(element, start * element.extent, n) for start, n in zip(starts, counts, strict=True)
    )


def _mixed(call: Call, rank: int, counts: Sequence[int]) -> tuple[Slot, ...]:
    """Blocks of two datatypes in turn, at multiples of 16 bytes."""
    slots, at = [], 0
    for peer, count in enumerate(counts):
        element = call.kind.element
        if (rank + peer) % 2:
            element = gapped(element)
        slots.append(Slot(element, at, count))
        at += -(-count * element.extent // 16) * 16 + 16
    return tuple(slots)


def whole(call: Call, rank: int, size: int) -> Layout:
    """Reduce, Allreduce, Scan and Exscan."""
    method = call.method
    one = _run(call.kind.element, [call.count])
    at_root = not method.spec.rooted or rank == call.root
    outputs = one if at_root and not (method.name == "Exscan" and rank == 0) else ()
    if call.in_place and at_root:
        return Layout(one, one, own=one, outputs=outputs, send_in_place=True)
    return Layout(one, one, inputs=one, outputs=outputs)


def bcast(call: Call, rank: int, size: int) -> Layout:
    """Bcast, whose only buffer is the receive buffer here."""
    one = _run(call.kind.element, [call.count])
    return Layout(receive=one, own=one) if rank == call.root else Layout(receive=one, outputs=one)


def split(call: Call, rank: int, size: int) -> Layout:
    """Reduce_scatter and Reduce_scatter_block."""
    element = call.kind.element
    counts = [call.count] * size
    if call.method.name == "Reduce_scatter":
        counts = [unequal(other, call.count) for other in range(size)]
    everything, mine = _run(element, [sum(counts)]), _run(element, [counts[rank]])
    if call.in_place:
        # Where all blocks are equal, mpi4py takes the count of one of them.
        argument = everything if call.method.unequal else _run(element, counts)
        return Layout(mine, argument, own=everything, outputs=mine, send_in_place=True)
    argument = everything if call.method.unequal else _run(element, counts)
    return Layout(argument, mine, inputs=everything, outputs=mine)


def _blocks(call: Call, size: int) -> tuple[Slot, ...]:
    """One block per rank."""
    if call.method.unequal:
        counts = [unequal(rank, call.count) for rank in range(size)]
        return _scattered(call.kind.element, counts)
    return _run(call.kind.element, [call.count] * size)


def collect(call: Call, rank: int, size: int) -> Layout:
    """Gather, Gatherv, Allgather and Allgatherv."""
    blocks = _blocks(call, size)
    mine = _run(call.kind.element, [blocks[rank].count])
    receives = not call.method.spec.rooted or rank == call.root
    outputs = blocks if receives else ()
    if call.in_place and receives:
        own = (blocks[rank],)
        return Layout(mine, blocks, own=own, outputs=outputs, send_in_place=True)
    return Layout(mine, blocks, inputs=mine, outputs=outputs)


def deal(call: Call, rank: int, size: int) -> Layout:
    """Scatter and Scatterv."""
    blocks = _blocks(call, size)
    mine = _run(call.kind.element, [blocks[rank].count])
    inputs = blocks if rank == call.root else ()
    if call.in_place and rank == call.root:
        return Layout(blocks, mine, inputs=inputs, receive_in_place=True)
    return Layout(blocks, mine, inputs=inputs, outputs=mine)


def exchange(call: Call, rank: int, size: int) -> Layout:
    """Alltoall, Alltoallv and Alltoallw."""

    def between(source: int, target: int) -> int:
        # In place, what goes must fit where what comes will be.
        weight = 1 if call.in_place else 2
        return unequal(source + weight * target, call.count)

    element = call.kind.element
    if not call.method.unequal:
        sent = received = _run(element, [call.count] * size)
    else:
        out = [between(rank, peer) for peer in range(size)]
        into = [between(peer, rank) for peer in range(size)]
        if call.method.name == "Alltoallw":
            sent, received = _mixed(call, rank, out), _mixed(call, rank, into)
        else:
            sent, received = _scattered(element, out), _scattered(element, into)
    if call.in_place:
        return Layout(sent, received, own=received, outputs=received, send_in_place=True)
    return Layout(sent, received, inputs=sent, outputs=received)
