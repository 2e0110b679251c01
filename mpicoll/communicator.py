"""Communicators with mpi4py's interface whose collectives run on point-to-point messages."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

from mpicoll.execution import calls
from mpicoll.execution.forms import collective, three_forms
from mpicoll.execution.state import State, state_of
from mpicoll.objects import ObjectCollectives

__all__ = ["Cartcomm", "Distgraphcomm", "Graphcomm", "Intracomm", "wrap"]


@three_forms
class Intracomm(ObjectCollectives, MPI.Intracomm):
    """An intra-communicator that performs its collectives by mpicoll's algorithms.

    ``Intracomm(comm)`` is collective on `comm`, which it shares: messages and attributes are those
    of `comm`, and freeing one frees the other. Collectives have mpi4py's names, arguments and
    buffer specifications, and two additions: `algorithm` names an algorithm (`mpicoll list` shows
    them), and further keywords are that algorithm's own parameters. Without a name one is chosen
    by `mpicoll.selection`.

    Wrong arguments raise what mpi4py raises, or `mpicoll.ArgumentError` (an `MPI.Exception` with
    MPI's error class) before any message is sent; an algorithm whose requirements do not hold
    raises `mpicoll.RequirementError`.
    """

    def __new__(cls, comm: MPI.Comm | None = None) -> Intracomm:
        """Share `comm`; collective on it."""
        # Not super(): Python wants the constructor of the first MPI class that cls builds on.
        self = MPI.Intracomm.__new__(cls, comm)
        if comm is not None and comm != MPI.COMM_NULL:
            self._state = state_of(self)
        return self

    @property
    def state(self) -> State:
        """The private side of this communicator."""
        try:
            return self._state
        except AttributeError:
            self._state = state_of(self)
            return self._state

    # Each definition below has mpi4py's name, arguments and defaults, and becomes three methods.

    @collective(calls.barrier)
    def Barrier(self):
        """Wait until every rank has called (MPI 4.1, section 6.3)."""
        return ()

    @collective(calls.bcast)
    def Bcast(self, buf, root=0):
        """Send the root's `buf` to every rank (MPI 4.1, section 6.4)."""
        return buf, root

    @collective(calls.gather)
    def Gather(self, sendbuf, recvbuf, root=0):
        """Collect equal blocks of all ranks at the root (MPI 4.1, section 6.5)."""
        return sendbuf, recvbuf, root, False

    @collective(calls.gather)
    def Gatherv(self, sendbuf, recvbuf, root=0):
        """Collect blocks of any sizes at the root (MPI 4.1, section 6.5)."""
        return sendbuf, recvbuf, root, True

    @collective(calls.scatter)
    def Scatter(self, sendbuf, recvbuf, root=0):
        """Deal out equal blocks of the root (MPI 4.1, section 6.6)."""
        return sendbuf, recvbuf, root, False

    @collective(calls.scatter)
    def Scatterv(self, sendbuf, recvbuf, root=0):
        """Deal out blocks of any sizes of the root (MPI 4.1, section 6.6)."""
        return sendbuf, recvbuf, root, True

    @collective(calls.allgather)
    def Allgather(self, sendbuf, recvbuf):
        """Collect equal blocks of all ranks on every rank (MPI 4.1, section 6.7)."""
        return sendbuf, recvbuf, False

    @collective(calls.allgather)
    def Allgatherv(self, sendbuf, recvbuf):
        """Collect blocks of any sizes on every rank (MPI 4.1, section 6.7)."""
        return sendbuf, recvbuf, True

    @collective(calls.alltoall)
    def Alltoall(self, sendbuf, recvbuf):
        """Exchange equal blocks between all ranks (MPI 4.1, section 6.8)."""
        return sendbuf, recvbuf, ""

    @collective(calls.alltoall)
    def Alltoallv(self, sendbuf, recvbuf):
        """Exchange blocks of any sizes between all ranks (MPI 4.1, section 6.8)."""
        return sendbuf, recvbuf, "v"

    @collective(calls.alltoall)
    def Alltoallw(self, sendbuf, recvbuf):
        """Exchange blocks of any sizes and datatypes between all ranks (MPI 4.1, section 6.8)."""
        return sendbuf, recvbuf, "w"

    @collective(calls.reduce)
    def Reduce(self, sendbuf, recvbuf, op=MPI.SUM, root=0):
        """Combine the vectors of all ranks at the root (MPI 4.1, section 6.9.1)."""
        return sendbuf, recvbuf, op, root

    @collective(calls.allreduce)
    def Allreduce(self, sendbuf, recvbuf, op=MPI.SUM):
        """Combine the vectors of all ranks on every rank (MPI 4.1, section 6.9.6)."""
        return sendbuf, recvbuf, op

    @collective(calls.reduce_scatter_block)
    def Reduce_scatter_block(self, sendbuf, recvbuf, op=MPI.SUM):
        """Combine vectors and leave each rank one of equal blocks (MPI 4.1, section 6.10.1)."""
        return sendbuf, recvbuf, op

    @collective(calls.reduce_scatter)
    def Reduce_scatter(self, sendbuf, recvbuf, recvcounts=None, op=MPI.SUM):
        """Combine vectors and leave each rank a block of `recvcounts[rank]` elements.

        Without `recvcounts` each rank's count is that of its receive buffer, and ranks tell each
        other first (MPI 4.1, section 6.10.2; the default is mpi4py's).
        """
        if recvcounts is None:
            own = np.array([calls.read_message(recvbuf, writable=True).count], "i8")
            recvcounts = np.zeros(self.state.size, "i8")
            self.Allgather(own, recvcounts)
        return sendbuf, recvbuf, recvcounts, op

    @collective(calls.scan)
    def Scan(self, sendbuf, recvbuf, op=MPI.SUM):
        """Combine the vectors of ranks 0 to one's own (MPI 4.1, section 6.11.1)."""
        return sendbuf, recvbuf, op

    @collective(calls.exscan)
    def Exscan(self, sendbuf, recvbuf, op=MPI.SUM):
        """Combine the vectors of the ranks before one's own; rank 0 gets nothing (6.11.2)."""
        return sendbuf, recvbuf, op


class Cartcomm(Intracomm, MPI.Cartcomm):
    """`Intracomm` with a Cartesian topology."""


class Graphcomm(Intracomm, MPI.Graphcomm):
    """`Intracomm` with a graph topology."""


class Distgraphcomm(Intracomm, MPI.Distgraphcomm):
    """`Intracomm` with a distributed graph topology."""


def wrap(comm: MPI.Comm) -> Intracomm:
    """The matching communicator of ours for any of MPI's; collective on `comm`.

    Raises TypeError for what is not an intra-communicator, ValueError for COMM_NULL.
    """
    if not isinstance(comm, MPI.Comm):
        raise TypeError(f"wrap() takes a communicator, not {type(comm).__name__}")
    if comm == MPI.COMM_NULL:
        raise ValueError("wrap() was given MPI.COMM_NULL: this rank is not in the communicator")
    for ours in (Cartcomm, Graphcomm, Distgraphcomm, Intracomm):
        if isinstance(comm, ours.__bases__[-1]):
            return ours(comm)
    raise TypeError(f"wrap() takes an intra-communicator, not {type(comm).__name__}")
