"""Communicators that come from ours are ours, and own a private one as long as they live."""

from __future__ import annotations

from collections.abc import Callable

from mpi4py import MPI

from mpicoll.execution import native
from mpicoll.execution.standin import StandIn
from mpicoll.execution.state import Channel, State, attach, merged_state_of, state_of

__all__ = ["MAKERS", "Family", "native_base"]


def _ours(comm: MPI.Comm) -> MPI.Comm:
    """A communicator that MPI has just made, as one of ours."""
    if comm == MPI.COMM_NULL:
        return comm
    if isinstance(comm, Family):
        # Its private communicator is made now, where all ranks are together.
        comm.state  # noqa: B018
        return comm
    from mpicoll.communicator import wrap

    return wrap(comm)


def _constant(name: str) -> MPI.Comm:
    return getattr(MPI, name)


#: Methods of MPI's communicators that make others. Not Spawn and the like: what runs on the other
#: side need not know of us, and would not take part in making a private communicator.
MAKERS = (
    "Clone",
    "Create",
    "Create_cart",
    "Create_dist_graph",
    "Create_dist_graph_adjacent",
    "Create_graph",
    "Create_group",
    "Create_intercomm",
    "Dup",
    "Dup_with_info",
    "Merge",
    "Split",
    "Split_type",
    "Sub",
)


def native_base(cls: type) -> type:
    """The class of mpi4py that a class of ours stands for."""
    return next(base for base in cls.__mro__ if base.__module__ == "mpi4py.MPI")


def _making(name: str) -> Callable:
    def make(self: Family, *arguments: object, **keywords: object) -> MPI.Comm:
        return _ours(self._native(name)(*arguments, **keywords))

    make.__name__ = name
    make.__doc__ = f"As MPI's `{name}`; the communicator that is made is ours."
    return make


class Family(metaclass=StandIn):
    """What intra- and inter-communicators of ours share: their state and how others are made."""

    _state: State | None = None
    _waiting: tuple[MPI.Request, Channel, tuple[int, ...] | None] | None = None

    def __init_subclass__(cls) -> None:
        """Let what the MPI class makes be ours."""
        for name in MAKERS:
            if hasattr(native_base(cls), name):
                setattr(cls, name, _making(name))

    def _entered(self) -> Family:
        if self != MPI.COMM_NULL:
            self.state  # noqa: B018
        return self

    @property
    def state(self) -> State:
        """The private side of this communicator; made, collectively, when it is first needed."""
        if self._state is None:
            if self._waiting is not None:
                (request, channel, nodes), self._waiting = self._waiting, None
                request.Wait()
                self._state = attach(self, State(channel))
                self._state.nodes = nodes
            elif isinstance(self, native.Intercomm):
                self._state = merged_state_of(self)
            else:
                self._state = state_of(self)
        return self._state

    def __reduce__(self) -> str | tuple:
        """As mpi4py: predefined communicators can be pickled, by name, and others cannot."""
        for name in ("COMM_WORLD", "COMM_SELF"):
            constant = getattr(MPI, name)
            if self is constant:
                return _constant, (name,)
            if self == constant:
                return type(self), (constant,)
        return self._native("__reduce__")()

    def Free(self) -> None:
        """Free the communicator and, with it, the private one."""
        self._arrived()
        self._native("Free")()
        self._state = None

    def Disconnect(self) -> None:
        """Free the communicator after what is pending on it."""
        self._arrived()
        self._native("Disconnect")()
        self._state = None

    def Idup(self, info: MPI.Info | None = None) -> tuple[Family, MPI.Request]:
        """Start to duplicate; the private communicator is duplicated along with it."""
        comm, request = self._native("Idup")(info)
        if isinstance(self, native.Intercomm):
            return comm, request
        channel, private = native.Intracomm(self.state.channel).Idup()
        comm._waiting = private, Channel(channel), self.state.nodes
        self.state.duplicating(private)
        return comm, request

    def Idup_with_info(self, info: MPI.Info) -> tuple[Family, MPI.Request]:
        """As `Idup`."""
        return self.Idup(info)

    def _arrived(self) -> None:
        """Wait for the private communicator of a duplicate that nobody has used."""
        if self._waiting is not None:
            self.state  # noqa: B018

    def _native(self, name: str) -> Callable:
        """The method of the MPI class that this one builds on."""
        return getattr(native_base(type(self)), name).__get__(self)
