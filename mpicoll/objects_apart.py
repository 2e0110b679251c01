"""Collectives on objects among neighbours, and between the groups of an inter-communicator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mpi4py import MPI

from mpicoll.execution import inter_rounds
from mpicoll.execution.neighbours import edges_of, plan_of
from mpicoll.execution.objects import Job
from mpicoll.execution.script import script_from
from mpicoll.execution.state import State
from mpicoll.objects import Operation, items_of, next_tags
from mpicoll.registry import plan_from
from mpicoll.steps import Buffer, Input, Output, Round, Step

__all__ = ["InterObjects", "NeighbourObjects"]


def _slots(buffer: Buffer, blocks: Iterable[int]) -> list[tuple[Buffer, int]]:
    return [(buffer, block) for block in blocks]


class NeighbourObjects:
    """Neighbourhood collectives on anything that can be pickled; None comes from PROC_NULL."""

    state: State

    def neighbor_allgather(self, sendobj: object) -> list:
        """Send an object to all destinations; the objects of the sources."""
        return self._along("neighbor_allgather", lambda: [sendobj])

    def neighbor_alltoall(self, sendobj: Sequence) -> list:
        """Send each destination an object of its own; the objects of the sources."""
        degree = len(self.outedges)
        return self._along("neighbor_alltoall", lambda: items_of(sendobj, degree))

    def _along(self, collective: str, supply: Callable[[], list]) -> list:
        tags = next_tags(self.state)
        edges = edges_of(self)
        same = collective == "neighbor_allgather"
        real = [i for i, peer in enumerate(edges.sources) if peer != MPI.PROC_NULL]
        inputs = range(1 if same else len(edges.destinations))
        script = script_from(plan_of(edges, same=same), _slots(Input, inputs), _slots(Output, real))
        found = Job(self.state, collective, script).perform(supply, tags)
        results = [None] * len(edges.sources)
        for edge, value in zip(real, found, strict=True):
            results[edge] = value
        return results


class InterObjects:
    """Collectives between two groups on anything that can be pickled; roots as in `Intercomm`."""

    state: State

    def barrier(self) -> None:
        """Wait until every rank of both groups has called."""
        self.Barrier()

    def bcast(self, obj: object, root: int = 0) -> object:
        """The root's object in the other group, None in the root's own."""
        tags, sides, top, is_root = self._start(root)
        if top is None:
            return None
        inputs, outputs = ([], [0]) if not is_root else ([0], [])
        rounds = inter_rounds.bcast_rounds(sides, top, is_root)
        buffers = _slots(Output, inputs), _slots(Output, outputs)
        found = self._perform("bcast", tags, rounds, buffers, lambda: [obj], None, top)
        return found[0] if found else None

    def gather(self, sendobj: object, root: int = 0) -> list | None:
        """The objects of the other group, in rank order, at the root; None elsewhere."""
        found, is_root = self._rooted("gather", root, lambda: [sendobj])
        return found if is_root else None

    def scatter(self, sendobj: Sequence | None, root: int = 0) -> object:
        """In the other group, this rank's item of the root's sequence; None in the root's own."""
        count = self.remote_size
        found, _ = self._rooted("scatter", root, lambda: items_of(sendobj, count))
        return found[0] if found else None

    def allgather(self, sendobj: object) -> list:
        """The objects of the other group in rank order."""
        return self._everybody("allgather", lambda: [sendobj])

    def alltoall(self, sendobj: Sequence) -> list:
        """What every rank of the other group has for this one."""
        count = self.remote_size
        return self._everybody("alltoall", lambda: items_of(sendobj, count))

    def reduce(self, sendobj: object, op: MPI.Op | Operation = MPI.SUM, root: int = 0) -> object:
        """The objects of the other group, combined in rank order, at the root; None elsewhere."""
        tags, sides, top, is_root = self._start(root)
        if top is None:
            return None
        buffers = _slots(Input, [] if is_root else [0]), _slots(Output, [0] if is_root else [])
        rounds = inter_rounds.reduce_rounds(sides, top, is_root)
        found = self._perform("reduce", tags, rounds, buffers, lambda: [sendobj], op, top)
        return found[0] if found else None

    def allreduce(self, sendobj: object, op: MPI.Op | Operation = MPI.SUM) -> object:
        """The objects of the other group, combined in rank order."""
        tags = next_tags(self.state)
        rounds = inter_rounds.allreduce_rounds(self.state.sides)
        buffers = _slots(Input, [0]), _slots(Output, [0])
        (result,) = self._perform("allreduce", tags, rounds, buffers, lambda: [sendobj], op)
        return result

    def _start(self, root: int) -> tuple[tuple, inter_rounds.Sides, int | None, bool]:
        tags = next_tags(self.state)
        sides = self.state.sides
        return tags, sides, inter_rounds.root_of(root, sides), root == MPI.ROOT

    def _rooted(self, name: str, root: int, supply: Callable[[], list]) -> tuple[list, bool]:
        tags, sides, top, is_root = self._start(root)
        if top is None:
            return [], False
        sends = name == "scatter"
        blocks = range(len(sides.remote) if is_root else 1)
        sending = sends == is_root
        buffers = (
            _slots(Input, blocks if sending else ()),
            _slots(Output, () if sending else blocks),
        )
        rounds = inter_rounds.rooted_rounds(sides, top, is_root, sends)
        return self._perform(name, tags, rounds, buffers, supply, None, top), is_root

    def _everybody(self, name: str, supply: Callable[[], list]) -> list:
        tags = next_tags(self.state)
        sides = self.state.sides
        same = name == "allgather"
        blocks = range(len(sides.remote))
        buffers = _slots(Input, [0] if same else blocks), _slots(Output, blocks)
        return self._perform(name, tags, [inter_rounds.everybody(sides, same)], buffers, supply)

    def _perform(
        self,
        name: str,
        tags: tuple[int, int, int],
        rounds: Iterable[Round | Step],
        buffers: tuple[list, list],
        supply: Callable[[], list],
        operation: MPI.Op | Operation | None = None,
        root: int = 0,
    ) -> list:
        script = script_from(plan_from(rounds, 1), *buffers)
        return Job(self.state, name, script, operation, root).perform(supply, tags)
