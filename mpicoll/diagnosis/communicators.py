"""Names of communicators that are the same on all of their ranks."""

from __future__ import annotations

from mpi4py import MPI

from mpicoll.execution import native
from mpicoll.execution.state import State
from mpicoll.launch.stacks import ranks_text

__all__ = ["members", "title", "world_ranks"]


def world_ranks(comm: native.Comm) -> tuple[int, ...]:
    """The ranks in MPI.COMM_WORLD of a communicator's members, in its own order."""
    group, world = comm.Get_group(), native.COMM_WORLD.Get_group()
    ranks = tuple(MPI.Group.Translate_ranks(group, None, world))
    group.Free()
    world.Free()
    return ranks


def members(state: State) -> tuple[int, ...]:
    """The world ranks of those who share this state."""
    return world_ranks(state.channel)


def title(state: State) -> str:
    """A name for a communicator, the same on all of its ranks.

    Without a name of its own it is known by its members and, among those with the same members, by
    the order in which they were made.
    """
    if _predefined(state):
        return state.name[4:]
    if state.name and not state.name.startswith("MPI COMM"):  # what Open MPI makes up
        return state.name
    own = members(state)
    earlier = (s for s in list(State.living) if s.made <= state.made and not _predefined(s))
    number = sum(1 for other in earlier if _alike(other, own))
    kind = "communicator" if state.sides is None else "inter-communicator"
    return f"{kind} {number} of {ranks_text(own)}"


def _predefined(state: State) -> bool:
    return state.name in ("MPI_COMM_WORLD", "MPI_COMM_SELF")


def _alike(state: State, own: tuple[int, ...]) -> bool:
    return state.size == len(own) and state.channel != MPI.COMM_NULL and members(state) == own
