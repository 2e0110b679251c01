"""What a communicator of ours owns: a private communicator, call numbers, bound plans."""

from __future__ import annotations

from typing import ClassVar
from weakref import WeakSet

from mpi4py import MPI

from mpicoll import selection
from mpicoll.execution import native
from mpicoll.execution.bind import Bound, bind
from mpicoll.execution.blocking import run
from mpicoll.execution.calls import Call
from mpicoll.execution.inter_rounds import Sides
from mpicoll.execution.operation import Operation, PersistentOperation
from mpicoll.execution.progress import progress
from mpicoll.execution.request import Prequest, Request, persistent, started
from mpicoll.nodes import find_nodes
from mpicoll.registry import Algorithm, find

__all__ = [
    "NATIVE_COLLECTIVES",
    "Channel",
    "NativeCollectiveError",
    "State",
    "attach",
    "forget_shortcuts",
    "known_state",
    "merged_state_of",
    "state_of",
]

#: Every collective communication method of mpi4py's communicators, by name.
NATIVE_COLLECTIVES = frozenset(
    prefix + name + suffix
    for name in (
        "Barrier Bcast Reduce Allreduce Scan Exscan Scatter Scatterv Gather Gatherv Allgather "
        "Allgatherv Alltoall Alltoallv Alltoallw Reduce_scatter Reduce_scatter_block "
        "Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv "
        "Neighbor_alltoallw"
    ).split()
    for prefix, name, suffix in (
        ("", name, ""),
        ("I", name[0].lower() + name[1:], ""),
        ("", name, "_init"),
    )
) | frozenset(
    "barrier bcast reduce allreduce scan exscan scatter gather allgather alltoall "
    "neighbor_allgather neighbor_alltoall".split()
)


class NativeCollectiveError(RuntimeError):
    """Something tried to call a collective of MPI on a private communicator."""


class Channel(native.Intracomm):
    """A private communicator on which point-to-point calls work and collectives of MPI raise."""


def _refusal(name: str):
    def refuse(self: Channel, *args: object, **keywords: object) -> None:
        raise NativeCollectiveError(
            f"{name} was called on a private communicator: mpicoll communicates by point-to-point"
        )

    refuse.__name__ = name
    return refuse


for _name in NATIVE_COLLECTIVES:
    setattr(Channel, _name, _refusal(_name))


def forget_shortcuts() -> None:
    """Let every call be read again, and its algorithm chosen.

    Other choices must count for all calls at once: other ranks may come without a shortcut.
    """
    for state in State.living:
        state.shortcuts.clear()


selection.when_forgotten.append(forget_shortcuts)


class State:
    """The private side of one communicator, shared by all objects that wrap it."""

    #: Bound plans kept for calls that come again, and bytes of scratch that they may hold.
    MOST_PLANS, MOST_SCRATCH = 256, 256 << 20
    #: All states of this process, which are numbered in the order in which they were `made`.
    living: ClassVar[WeakSet[State]] = WeakSet()
    _made = 0

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        State._made += 1
        self.made = State._made
        State.living.add(self)
        self.rank, self.size = self.channel.Get_rank(), self.channel.Get_size()
        # An even number of tags, so that odd ones stay odd when they come round again.
        self.tags = native.COMM_WORLD.Get_attr(MPI.TAG_UB) // 2 * 2
        # Calls take a tag each, those on objects a few more.
        self.calls = self.spare_tags = 0
        self.name = ""
        self.plans: dict[tuple, Bound] = {}
        self.scratch_bytes = 0
        self.shortcuts: dict[tuple, Bound] = {}
        self.sides: Sides | None = None
        self.nodes: tuple[int, ...] | None = None
        self._duplicates: list[native.Request] = []

    def next_tag(self, persistent: bool = False) -> int:
        """A tag of its own for the next call.

        Calls are numbered before their arguments are read, so that ranks stay in step, and never
        take each other's messages, even if a call fails on one of them only. Persistent calls have
        the odd tags, since theirs stay in use when the others come round again.
        """
        self.calls += 1
        return (2 * self.calls + persistent) % self.tags

    def perform(
        self, call: Call, tag: int, name: str | None, parameters: dict[str, object]
    ) -> tuple | None:
        """Run a call to its end, by the named algorithm or by the one that is chosen for it.

        Returns the key under which the bound plan is kept, None if it is not.
        """
        key, bound = self.take(call, name, parameters)
        if progress.pending:
            # Others may wait for what is pending here before they join this call.
            operation = Operation(bound, self.channel, tag)
            if not operation.start():
                progress.add(operation)
            operation.wait()
        else:
            run(bound.program, self.channel, tag)
        self.give_back(key, bound)
        return key

    def remember(self, shortcut: tuple, key: tuple) -> None:
        """Let `shortcut` stand for a call whose bound plan is kept under `key`."""
        if len(self.shortcuts) > 4 * self.MOST_PLANS:
            self.shortcuts.clear()
        if key in self.plans:  # it is not where a single plan is larger than what is kept
            bound = self.shortcuts[shortcut] = self.plans[key]
            bound.recent = True

    def start(
        self, call: Call, tag: int, name: str | None, parameters: dict[str, object]
    ) -> Request:
        """Start a call; it goes on whenever somebody waits or tests."""
        return started(self.operation(call, tag, name, parameters), call)

    def operation(
        self, call: Call, tag: int, name: str | None, parameters: dict[str, object]
    ) -> Operation:
        """The operation of a call, for whoever starts it; it does not keep the user's memory."""
        key, bound = self.take(call, name, parameters)
        operation = Operation(bound, self.channel, tag)
        operation.at_end.append(lambda error: self.give_back(None if error else key, bound))
        return operation

    def prepare(
        self, call: Call, tag: int, name: str | None, parameters: dict[str, object]
    ) -> Prequest:
        """Prepare a call that can be started again and again."""
        _, bound = self.take(call, name, parameters)
        return persistent(PersistentOperation(bound, self.channel, tag), call)

    def take(
        self, call: Call, name: str | None, parameters: dict[str, object]
    ) -> tuple[tuple | None, Bound]:
        """A bound plan for a call, new or kept from one like it, and its key."""
        algorithm, parameters = self.settle(call, name, parameters)
        key = None
        if call.key is not None:
            key = (algorithm or call.collective, tuple(sorted(parameters.items())), call.key)
            # Whoever runs a plan has taken it out, so that it never runs twice at a time.
            bound = self.plans.pop(key, None)
            if bound is not None:
                self.scratch_bytes -= bound.scratch_bytes
                bound.idle = False
                return key, bound
        if algorithm is None:
            return key, bind(call.fixed[0], call, call.fixed[1])
        plan = algorithm.plan(self.rank, self.size, call.root, **parameters)
        return key, bind(plan, call, algorithm.number_of_blocks(self.size, parameters))

    def settle(
        self, call: Call, name: str | None, parameters: dict[str, object]
    ) -> tuple[Algorithm | None, dict[str, object]]:
        """What a call asks for as an algorithm and its parameters; None where the plan is fixed."""
        if "reproducible" in parameters:
            parameters = dict(parameters)
            if parameters.pop("reproducible"):
                name = selection.reproducible(call.collective, name)
        if call.fixed:
            if name not in (None, "linear") or parameters:
                raise ValueError(f"{call.collective} has one algorithm only, linear")
            return None, parameters
        algorithm = self.algorithm_for(call, name, parameters)
        return algorithm, self.placed(algorithm, parameters)

    def placed(self, algorithm: Algorithm, parameters: dict[str, object]) -> dict[str, object]:
        """The parameters, and the nodes that the ranks are on where the algorithm asks for them."""
        if self.nodes is None or "nodes" in parameters or "nodes" not in algorithm.parameters:
            return parameters
        return {**parameters, "nodes": self.nodes}

    def algorithm_for(
        self, call: Call, name: str | None, parameters: dict[str, object] | None = None
    ) -> Algorithm:
        """The algorithm that will serve a call; RequirementError if the named one cannot."""
        if name is None:
            return selection.choose(*_question(call), self.nodes).algorithm
        algorithm = find(call.collective, name)
        algorithm.require(
            call.size,
            commutative=call.commutative,
            equal_blocks=call.equal_blocks,
            nodes=self.placed(algorithm, parameters or {}).get("nodes"),
        )
        return algorithm

    def give_back(self, key: tuple | None, bound: Bound) -> None:
        """Keep a bound plan for the next call of its kind, or free it."""
        if key is None:
            bound.free()
            return
        twin = self.plans.pop(key, None)
        if twin is not None:
            self._drop(twin)
        bound.idle = True
        self.plans[key] = bound
        self.scratch_bytes += bound.scratch_bytes
        while len(self.plans) > self.MOST_PLANS or self.scratch_bytes > self.MOST_SCRATCH:
            oldest = next(iter(self.plans))
            candidate = self.plans.pop(oldest)
            if candidate.recent and candidate is not bound:  # used by a shortcut: a second chance
                candidate.recent = False
                self.plans[oldest] = candidate
            else:
                self._drop(candidate)

    def _drop(self, bound: Bound) -> None:
        self.scratch_bytes -= bound.scratch_bytes
        bound.free()

    def duplicating(self, request: native.Request) -> None:
        """Remember that a duplicate of the channel is being made: it must not be freed before."""
        pending = [other for other in self._duplicates if other != MPI.REQUEST_NULL]
        self._duplicates = [*pending, request]

    def close(self) -> None:
        """Free what belongs to the communicator that is being freed."""
        native.Request.Waitall(self._duplicates)
        for bound in self.plans.values():
            bound.free()
        self.plans.clear()
        self.shortcuts.clear()
        self.channel.Free()


def _question(call: Call) -> tuple:
    """What the choice of an algorithm depends on."""
    return call.collective, call.size, call.nbytes, call.commutative, call.equal_blocks


def _on_delete(comm: native.Comm, keyval: int, state: State) -> None:
    state.close()


_KEYVAL = native.Comm.Create_keyval(delete_fn=_on_delete)


def known_state(comm: native.Comm) -> State | None:
    """The state of a communicator if it has one by now."""
    return comm.Get_attr(_KEYVAL)


def state_of(comm: native.Intracomm) -> State:
    """The state of a communicator; collective on it the first time, as it duplicates it."""
    state = known_state(comm)
    if state is None:
        state = attach(comm, State(Channel(native.Intracomm(comm).Dup())))
        state.nodes = find_nodes(state.channel)
        state.name = comm.Get_name()
    return state


def attach(comm: native.Comm, state: State) -> State:
    """Let `state` live and die with `comm`."""
    comm.Set_attr(_KEYVAL, state)
    return state


def merged_state_of(comm: native.Intercomm) -> State:
    """The state of an inter-communicator: private to both groups merged; collective on it.

    `sides` of the state says who is who there.
    """
    state = known_state(comm)
    if state is None:
        merged = native.Intercomm(comm).Merge()
        state = State(Channel(merged))
        groups = (merged.Get_group(), comm.Get_group(), comm.Get_remote_group())
        whole, local, remote = groups
        state.sides = Sides(*(_ranks_in(whole, part) for part in (local, remote)), comm.Get_rank())
        for group in groups:
            group.Free()
        attach(comm, state)
    return state


def _ranks_in(whole: MPI.Group, part: MPI.Group) -> tuple[int, ...]:
    return tuple(MPI.Group.Translate_ranks(part, None, whole))
