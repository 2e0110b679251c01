"""The collectives on Python objects, with the names, arguments and results of mpi4py's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from mpi4py import MPI

from mpicoll.execution.calls import check_root
from mpicoll.execution.objects import Job
from mpicoll.execution.script import script_of
from mpicoll.execution.state import State
from mpicoll.registry import Algorithm, find
from mpicoll.selection import choose, wished

__all__ = ["ObjectCollectives"]

#: Operations whose operands may change places; for objects that is the caller's promise, since
#: MPI.SUM of two strings depends on their order.
COMMUTATIVE = (
    MPI.SUM,
    MPI.PROD,
    MPI.MAX,
    MPI.MIN,
    MPI.LAND,
    MPI.LOR,
    MPI.LXOR,
    MPI.BAND,
    MPI.BOR,
    MPI.BXOR,
    MPI.MAXLOC,
    MPI.MINLOC,
)

Operation = Callable[[object, object], object]


class ObjectCollectives:
    """Collectives on anything that can be pickled, by the same algorithms as those on buffers.

    Objects are pickled by `MPI.pickle`, large arrays inside them without being copied. Operations
    are `MPI.Op` or any function of two arguments; operands are combined in rank order, unless an
    algorithm is named that combines them in another, which only MPI's own commutative operations
    allow. An operation may change its arguments: they are nobody else's.

    A rank whose object cannot be pickled, or whose operation raises, raises that error; ranks that
    should have got a value from it raise `mpicoll.PeerError`. No rank is left waiting.
    """

    state: State

    def barrier(self, *, algorithm: str | None = None, **parameters: object) -> None:
        """Wait until every rank has called (MPI 4.1, section 6.3)."""
        self.Barrier(algorithm=algorithm, **parameters)

    def bcast(
        self, obj: object, root: int = 0, *, algorithm: str | None = None, **parameters: object
    ) -> object:
        """The root's object; at the root itself a copy of it, as in mpi4py."""
        (result,) = self._perform("bcast", lambda: [obj], root, None, algorithm, parameters)
        return result

    def gather(
        self, sendobj: object, root: int = 0, *, algorithm: str | None = None, **parameters: object
    ) -> list | None:
        """The objects of all ranks in rank order at the root, None elsewhere."""
        found = self._perform("gather", lambda: [sendobj], root, None, algorithm, parameters)
        return found if self.state.rank == root else None

    def scatter(
        self,
        sendobj: Sequence | None,
        root: int = 0,
        *,
        algorithm: str | None = None,
        **parameters: object,
    ) -> object:
        """This rank's item of the root's sequence, which has one for each rank."""
        size = self.state.size
        (result,) = self._perform(
            "scatter", lambda: items_of(sendobj, size), root, None, algorithm, parameters
        )
        return result

    def allgather(
        self, sendobj: object, *, algorithm: str | None = None, **parameters: object
    ) -> list:
        """The objects of all ranks in rank order."""
        return self._perform("allgather", lambda: [sendobj], 0, None, algorithm, parameters)

    def alltoall(
        self, sendobj: Sequence, *, algorithm: str | None = None, **parameters: object
    ) -> list:
        """What every rank has for this one, in rank order; `sendobj` has one item for each."""
        size = self.state.size
        return self._perform(
            "alltoall", lambda: items_of(sendobj, size), 0, None, algorithm, parameters
        )

    def reduce(
        self,
        sendobj: object,
        op: MPI.Op | Operation = MPI.SUM,
        root: int = 0,
        *,
        algorithm: str | None = None,
        **parameters: object,
    ) -> object:
        """The objects of all ranks, combined in rank order, at the root; None elsewhere."""
        found = self._perform("reduce", lambda: [sendobj], root, op, algorithm, parameters)
        return found[0] if found else None

    def allreduce(
        self,
        sendobj: object,
        op: MPI.Op | Operation = MPI.SUM,
        *,
        algorithm: str | None = None,
        **parameters: object,
    ) -> object:
        """The objects of all ranks, combined in rank order."""
        (result,) = self._perform("allreduce", lambda: [sendobj], 0, op, algorithm, parameters)
        return result

    def scan(
        self,
        sendobj: object,
        op: MPI.Op | Operation = MPI.SUM,
        *,
        algorithm: str | None = None,
        **parameters: object,
    ) -> object:
        """The objects of ranks 0 to this one, combined in rank order."""
        (result,) = self._perform("scan", lambda: [sendobj], 0, op, algorithm, parameters)
        return result

    def exscan(
        self,
        sendobj: object,
        op: MPI.Op | Operation = MPI.SUM,
        *,
        algorithm: str | None = None,
        **parameters: object,
    ) -> object:
        """The objects of the ranks before this one, combined in rank order; None on rank 0."""
        found = self._perform("exscan", lambda: [sendobj], 0, op, algorithm, parameters)
        return found[0] if found else None

    def _perform(
        self,
        collective: str,
        supply: Callable[[], list],
        root: int,
        operation: MPI.Op | Operation | None,
        name: str | None,
        parameters: dict[str, object],
    ) -> list:
        state = self.state
        tags = next_tags(state)
        root = check_root(root, state.size)
        commutes = operation is None or operation in COMMUTATIVE
        algorithm = _algorithm(collective, state.size, name, commutes)
        parameters = state.placed(algorithm, parameters)
        settings = tuple(sorted(parameters.items()))
        script = script_of(algorithm, state.rank, state.size, root, settings)
        job = Job(state, collective, script, operation, root, parameters)
        return job.perform(supply, tags)


def next_tags(state: State) -> tuple[int, int, int]:
    """A tag for each kind of message in `mpicoll.execution.parcels`."""
    state.spare_tags += 2
    return state.next_tag(), state.next_tag(), state.next_tag()


def items_of(sequence: Sequence | None, size: int) -> list:
    """A list of `size` items; ValueError if there are more or fewer."""
    items = [None] * size if sequence is None else list(sequence)
    if len(items) != size:
        raise ValueError(f"expecting {size} items, got {len(items)}")
    return items


def _algorithm(collective: str, size: int, name: str | None, commutes: bool) -> Algorithm:
    if name is None:
        return _automatic(collective, size, commutes)
    algorithm = find(collective, name)
    # Blocks may be unequal for any algorithm, since parcels say how long they are.
    algorithm.require(size, commutative=commutes, equal_blocks=True)
    return algorithm


@lru_cache(maxsize=1024)
def _automatic(collective: str, size: int, commutes: bool) -> Algorithm:
    wish = wished(collective)
    if wish:
        return _algorithm(collective, size, wish, commutes)
    # Sizes are not known everywhere: short messages, of which none is sent on needlessly.
    return choose(collective, size, 0, commutative=False, equal_blocks=False).algorithm
