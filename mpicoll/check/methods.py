"""Each MPI call: where its buffers' content lies, and its arguments as mpi4py takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mpi4py import MPI

from mpicoll.check import layouts
from mpicoll.check.layouts import Layout, unequal
from mpicoll.check.memory import Area, Slot
from mpicoll.check.names import CALLS
from mpicoll.spec import Spec, spec_of

if TYPE_CHECKING:
    from mpicoll.check.cases import Call

__all__ = ["METHODS", "Method"]


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


METHODS = {
    method.name: method
    for method in (
        Method("Barrier", lambda call, rank, size: Layout(), in_place=False),
        Method("Bcast", layouts.bcast, "", "one", in_place=False),
        Method("Reduce", layouts.whole, "one", "one"),
        Method("Allreduce", layouts.whole, "one", "one"),
        Method("Scatter", layouts.deal, "one", "one"),
        Method("Scatterv", layouts.deal, "vector", "one", unequal=True),
        Method("Gather", layouts.collect, "one", "one"),
        Method("Gatherv", layouts.collect, "one", "vector", unequal=True),
        Method("Allgather", layouts.collect, "one", "one"),
        Method("Allgatherv", layouts.collect, "one", "vector", unequal=True),
        Method("Reduce_scatter_block", layouts.split, "one", "one"),
        Method("Reduce_scatter", layouts.split, "one", "one", unequal=True),
        Method("Alltoall", layouts.exchange, "one", "one"),
        Method("Alltoallv", layouts.exchange, "vector", "vector", unequal=True),
        Method("Alltoallw", layouts.exchange, "typed", "typed", unequal=True),
        Method("Scan", layouts.whole, "one", "one"),
        Method("Exscan", layouts.whole, "one", "one"),
    )
}
