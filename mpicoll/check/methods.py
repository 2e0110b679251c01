"""Each MPI call: where its inputs and outputs lie on a rank, and its arguments for mpi4py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from mpi4py import MPI

from mpicoll.check.kinds import Element, gapped
from mpicoll.check.memory import Area, Slot
from mpicoll.check.names import CALLS
from mpicoll.spec import Spec, spec_of

if TYPE_CHECKING:
    from mpicoll.check.cases import Call

__all__ = ["METHODS", "Layout", "Method", "unequal"]


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


@dataclass(frozen=True)
class Method:
    """An MPI collective call.

    `lay` gives a rank's `Layout`; `sent` and `received` name the forms of the buffer arguments
    (see `_SPELLINGS`); `in_place`: MPI allows it; `unequal`: blocks differ from rank to rank.
    """

    name: str
    lay: Callable[[Call, int, int], Layout]
    sent: str = ""
    received: str = ""
    in_place: bool = True
    unequal: bool = False

    @property
    def collective(self) -> str:
        """The collective, as the registry calls it."""
        return CALLS[self.name]

    @property
    def spec(self) -> Spec:
        """What the collective means."""
        return spec_of(self.collective)

    def equal_blocks(self, call: Call, size: int) -> bool:
        """What `mpicoll.selection` will be told; only what all ranks can see counts."""
        if self.name in ("Allgatherv", "Reduce_scatter"):
            return len({unequal(rank, call.count) for rank in range(size)}) == 1
        return not self.unequal

    def arguments(self, call: Call, rank: int, size: int, send: Area, receive: Area) -> list:
        """Positional arguments, in mpi4py's order."""
        layout = self.lay(call, rank, size)
        given: list = []
        if self.sent:
            spelled = _SPELLINGS[self.sent](call, send, layout.send)
            given.append(MPI.IN_PLACE if layout.send_in_place else spelled)
        if self.received:
            spelled = _SPELLINGS[self.received](call, receive, layout.receive)
            given.append(MPI.IN_PLACE if layout.receive_in_place else spelled)
        if self.name == "Reduce_scatter":
            given.append([unequal(other, call.count) for other in range(size)])
        if self.spec.reduces:
            given.append(call.kind.operation.op)
        if self.spec.rooted:
            given.append(call.root)
        return given

    def part(self, call: Call, rank: int, size: int) -> tuple[int, int]:
        """Which elements of the whole vector are a rank's result: the first, and how many."""
        if self.name == "Reduce_scatter":
            counts = [unequal(other, call.count) for other in range(size)]
            return sum(counts[:rank]), counts[rank]
        if self.name == "Reduce_scatter_block":
            return rank * call.count, call.count
        return 0, call.count

    def contributors(self, rank: int, size: int) -> int:
        """How many ranks' values are combined in a rank's result: those from rank 0 on."""
        return {"Scan": rank + 1, "Exscan": rank}.get(self.name, size)


def unequal(block: int, count: int) -> int:
    """The size of a block in the calls with counts per rank, some of them empty.

    No block is longer than all before it together, except the first: in place, MPICH 5.0's own
    Reduce_scatter aborts where a long block overlaps the place that its result goes to.
    """
    return (count + 1, 0, count, 2 * count, 1)[block % 5] if count else 0


# How a buffer argument is written.


def _one(call: Call, area: Area, slots: Sequence[Slot]) -> object:
    if call.layout == "plain" and call.kind.element.simple:
        return area.array(sum(slot.count for slot in slots))
    return [area.from_start, slots[0].count if slots else 0, call.kind.element.datatype]


def _vector(call: Call, area: Area, slots: Sequence[Slot]) -> object:
    element = call.kind.element
    counts = [slot.count for slot in slots]
    places = [slot.at // element.extent for slot in slots]
    return [area.from_start, counts, places, element.datatype]


def _typed(call: Call, area: Area, slots: Sequence[Slot]) -> object:
    counts, places = [slot.count for slot in slots], [slot.at for slot in slots]
    return [area.from_start, counts, places, [slot.element.datatype for slot in slots]]


_SPELLINGS = {"one": _one, "vector": _vector, "typed": _typed}


# Where blocks lie.


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


def _whole(call: Call, rank: int, size: int) -> Layout:
    """Reduce, Allreduce, Scan and Exscan."""
    method = call.method
    one = _run(call.kind.element, [call.count])
    at_root = not method.spec.rooted or rank == call.root
    outputs = one if at_root and not (method.name == "Exscan" and rank == 0) else ()
    if call.in_place and at_root:
        return Layout(one, one, own=one, outputs=outputs, send_in_place=True)
    return Layout(one, one, inputs=one, outputs=outputs)


def _bcast(call: Call, rank: int, size: int) -> Layout:
    one = _run(call.kind.element, [call.count])
    return Layout(receive=one, own=one) if rank == call.root else Layout(receive=one, outputs=one)


def _split(call: Call, rank: int, size: int) -> Layout:
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


def _collect(call: Call, rank: int, size: int) -> Layout:
    """Gather, Gatherv, Allgather and Allgatherv."""
    blocks = _blocks(call, size)
    mine = _run(call.kind.element, [blocks[rank].count])
    receives = not call.method.spec.rooted or rank == call.root
    outputs = blocks if receives else ()
    if call.in_place and receives:
        own = (blocks[rank],)
        return Layout(mine, blocks, own=own, outputs=outputs, send_in_place=True)
    return Layout(mine, blocks, inputs=mine, outputs=outputs)


def _deal(call: Call, rank: int, size: int) -> Layout:
    """Scatter and Scatterv."""
    blocks = _blocks(call, size)
    mine = _run(call.kind.element, [blocks[rank].count])
    inputs = blocks if rank == call.root else ()
    if call.in_place and rank == call.root:
        return Layout(blocks, mine, inputs=inputs, receive_in_place=True)
    return Layout(blocks, mine, inputs=inputs, outputs=mine)


def _exchange(call: Call, rank: int, size: int) -> Layout:
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


METHODS = {
    method.name: method
    for method in (
        Method("Barrier", lambda call, rank, size: Layout(), in_place=False),
        Method("Bcast", _bcast, "", "one", in_place=False),
        Method("Reduce", _whole, "one", "one"),
        Method("Allreduce", _whole, "one", "one"),
        Method("Scatter", _deal, "one", "one"),
        Method("Scatterv", _deal, "vector", "one", unequal=True),
        Method("Gather", _collect, "one", "one"),
        Method("Gatherv", _collect, "one", "vector", unequal=True),
        Method("Allgather", _collect, "one", "one"),
        Method("Allgatherv", _collect, "one", "vector", unequal=True),
        Method("Reduce_scatter_block", _split, "one", "one"),
        Method("Reduce_scatter", _split, "one", "one", unequal=True),
        Method("Alltoall", _exchange, "one", "one"),
        Method("Alltoallv", _exchange, "vector", "vector", unequal=True),
        Method("Alltoallw", _exchange, "typed", "typed", unequal=True),
        Method("Scan", _whole, "one", "one"),
        Method("Exscan", _whole, "one", "one"),
    )
}
