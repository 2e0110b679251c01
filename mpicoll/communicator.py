"""Communicators with mpi4py's interface whose collectives run on point-to-point messages."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

from mpicoll.diagnosis.switches import open_switches
from mpicoll.execution import inter, moving, native, neighbours, reducing
from mpicoll.execution.forms import collective, three_forms
from mpicoll.execution.message import read_message
from mpicoll.family import Family, native_base
from mpicoll.objects import ObjectCollectives
from mpicoll.objects_apart import InterObjects, NeighbourObjects

__all__ = [
    "Cartcomm",
    "Distgraphcomm",
    "Graphcomm",
    "Intercomm",
    "Intracomm",
    "Topocomm",
    "counterpart",
    "wrap",
]


@three_forms
class Intracomm(Family, ObjectCollectives, native.Intracomm):
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

    def __new__(cls, comm: native.Comm | None = None) -> Intracomm:
        """Share `comm`; collective on it."""
        if comm is not None:
            comm = native_base(cls)(comm)  # refuses communicators of another topology
        # Not super(): Python wants the constructor of the first MPI class that cls builds on.
        self = native.Intracomm.__new__(cls, comm)
        return self._entered()

    # Each definition below has mpi4py's name, arguments and defaults, and becomes three methods.

    @collective(moving.barrier)
    def Barrier(self):
        """Wait until every rank has called (MPI 4.1, section 6.3)."""
        return ()

    @collective(moving.bcast)
    def Bcast(self, buf, root=0):
        """Send the root's `buf` to every rank (MPI 4.1, section 6.4)."""
        return buf, root

    @collective(moving.gather)
    def Gather(self, sendbuf, recvbuf, root=0):
        """Collect equal blocks of all ranks at the root (MPI 4.1, section 6.5)."""
        return sendbuf, recvbuf, root, False

    @collective(moving.gather)
    def Gatherv(self, sendbuf, recvbuf, root=0):
        """Collect blocks of any sizes at the root (MPI 4.1, section 6.5)."""
        return sendbuf, recvbuf, root, True

    @collective(moving.scatter)
    def Scatter(self, sendbuf, recvbuf, root=0):
        """Deal out equal blocks of the root (MPI 4.1, section 6.6)."""
        return sendbuf, recvbuf, root, False

    @collective(moving.scatter)
    def Scatterv(self, sendbuf, recvbuf, root=0):
        """Deal out blocks of any sizes of the root (MPI 4.1, section 6.6)."""
        return sendbuf, recvbuf, root, True

    @collective(moving.allgather)
    def Allgather(self, sendbuf, recvbuf):
        """Collect equal blocks of all ranks on every rank (MPI 4.1, section 6.7)."""
        return sendbuf, recvbuf, False

    @collective(moving.allgather)
    def Allgatherv(self, sendbuf, recvbuf):
        """Collect blocks of any sizes on every rank (MPI 4.1, section 6.7)."""
        return sendbuf, recvbuf, True

    @collective(moving.alltoall)
    def Alltoall(self, sendbuf, recvbuf):
        """Exchange equal blocks between all ranks (MPI 4.1, section 6.8)."""
        return sendbuf, recvbuf, ""

    @collective(moving.alltoall)
    def Alltoallv(self, sendbuf, recvbuf):
        """Exchange blocks of any sizes between all ranks (MPI 4.1, section 6.8)."""
        return sendbuf, recvbuf, "v"

    @collective(moving.alltoall)
    def Alltoallw(self, sendbuf, recvbuf):
        """Exchange blocks of any sizes and datatypes between all ranks (MPI 4.1, section 6.8)."""
        return sendbuf, recvbuf, "w"

    @collective(reducing.reduce)
    def Reduce(self, sendbuf, recvbuf, op=MPI.SUM, root=0):
        """Combine the vectors of all ranks at the root (MPI 4.1, section 6.9.1)."""
        return sendbuf, recvbuf, op, root

    @collective(reducing.allreduce)
    def Allreduce(self, sendbuf, recvbuf, op=MPI.SUM):
        """Combine the vectors of all ranks on every rank (MPI 4.1, section 6.9.6)."""
        return sendbuf, recvbuf, op

    @collective(reducing.reduce_scatter_block)
    def Reduce_scatter_block(self, sendbuf, recvbuf, op=MPI.SUM):
        """Combine vectors and leave each rank one of equal blocks (MPI 4.1, section 6.10.1)."""
        return sendbuf, recvbuf, op

    @collective(reducing.reduce_scatter)
    def Reduce_scatter(self, sendbuf, recvbuf, recvcounts=None, op=MPI.SUM):
        """Combine vectors and leave each rank a block of `recvcounts[rank]` elements.

        Without `recvcounts` each rank's count is that of its receive buffer, and ranks tell each
        other first (MPI 4.1, section 6.10.2; the default is mpi4py's).
        """
        if recvcounts is None:
            own = np.array([read_message(recvbuf, writable=True).count], "i8")
            recvcounts = np.zeros(self.state.size, "i8")
            self.Allgather(own, recvcounts)
        return sendbuf, recvbuf, recvcounts, op

    @collective(reducing.scan)
    def Scan(self, sendbuf, recvbuf, op=MPI.SUM):
        """Combine the vectors of ranks 0 to one's own (MPI 4.1, section 6.11.1)."""
        return sendbuf, recvbuf, op

    @collective(reducing.exscan)
    def Exscan(self, sendbuf, recvbuf, op=MPI.SUM):
        """Combine the vectors of the ranks before one's own; rank 0 gets nothing (6.11.2)."""
        return sendbuf, recvbuf, op


@three_forms
class Topocomm(NeighbourObjects, Intracomm, native.Topocomm):
    """`Intracomm` with a process topology and the collectives among neighbours in it.

    Neighbourhood collectives have one algorithm, ``linear``: a message along every edge.
    """

    @collective(neighbours.allgather)
    def Neighbor_allgather(self, sendbuf, recvbuf):
        """Send a block to all destinations, collect the sources' (MPI 4.1, section 8.6.1)."""
        return neighbours.edges_of(self), sendbuf, recvbuf, False

    @collective(neighbours.allgather)
    def Neighbor_allgatherv(self, sendbuf, recvbuf):
        """Send a block to all destinations, collect the sources', of any sizes (8.6.1)."""
        return neighbours.edges_of(self), sendbuf, recvbuf, True

    @collective(neighbours.alltoall)
    def Neighbor_alltoall(self, sendbuf, recvbuf):
        """Send each destination a block of its own (MPI 4.1, section 8.6.2)."""
        return neighbours.edges_of(self), sendbuf, recvbuf, ""

    @collective(neighbours.alltoall)
    def Neighbor_alltoallv(self, sendbuf, recvbuf):
        """Send each destination a block of its own, of any size (MPI 4.1, section 8.6.2)."""
        return neighbours.edges_of(self), sendbuf, recvbuf, "v"

    @collective(neighbours.alltoall)
    def Neighbor_alltoallw(self, sendbuf, recvbuf):
        """Send each destination a block of its own, of any size and type (8.6.2)."""
        return neighbours.edges_of(self), sendbuf, recvbuf, "w"


class Cartcomm(Topocomm, native.Cartcomm):
    """`Topocomm` whose topology is a Cartesian grid."""


class Graphcomm(Topocomm, native.Graphcomm):
    """`Topocomm` whose topology is a graph that every rank knows."""


class Distgraphcomm(Topocomm, native.Distgraphcomm):
    """`Topocomm` whose topology is a graph of which every rank knows its own edges."""


@three_forms
class Intercomm(Family, InterObjects, native.Intercomm):
    """An inter-communicator that performs its collectives by point-to-point messages.

    Roots are named as in MPI: the root itself passes MPI.ROOT, the others of its group
    MPI.PROC_NULL, the other group its rank. Each collective has one algorithm, ``linear``.
    """

    def __new__(cls, comm: MPI.Comm | None = None) -> Intercomm:
        """Share `comm`; collective on both of its groups."""
        self = native.Intercomm.__new__(cls, comm)
        return self._entered()

    # Each definition below has mpi4py's name, arguments and defaults, and becomes three methods.

    @collective(inter.barrier)
    def Barrier(self):
        """Wait until every rank of both groups has called (MPI 4.1, section 6.3)."""
        return (self.state.sides,)

    @collective(inter.bcast)
    def Bcast(self, buf, root=0):
        """Send the root's `buf` to the other group (MPI 4.1, section 6.4)."""
        return self.state.sides, buf, root

    @collective(inter.gather)
    def Gather(self, sendbuf, recvbuf, root=0):
        """Collect equal blocks of the other group at the root (MPI 4.1, section 6.5)."""
        return self.state.sides, sendbuf, recvbuf, root, False

    @collective(inter.gather)
    def Gatherv(self, sendbuf, recvbuf, root=0):
        """Collect blocks of any sizes of the other group at the root (MPI 4.1, section 6.5)."""
        return self.state.sides, sendbuf, recvbuf, root, True

    @collective(inter.scatter)
    def Scatter(self, sendbuf, recvbuf, root=0):
        """Deal out equal blocks of the root to the other group (MPI 4.1, section 6.6)."""
        return self.state.sides, sendbuf, recvbuf, root, False

    @collective(inter.scatter)
    def Scatterv(self, sendbuf, recvbuf, root=0):
        """Deal out blocks of any sizes of the root to the other group (MPI 4.1, section 6.6)."""
        return self.state.sides, sendbuf, recvbuf, root, True

    @collective(inter.allgather)
    def Allgather(self, sendbuf, recvbuf):
        """Collect the equal blocks of the other group on every rank (MPI 4.1, section 6.7)."""
        return self.state.sides, sendbuf, recvbuf, False

    @collective(inter.allgather)
    def Allgatherv(self, sendbuf, recvbuf):
        """Collect blocks of any sizes of the other group on every rank (6.7)."""
        return self.state.sides, sendbuf, recvbuf, True

    @collective(inter.alltoall)
    def Alltoall(self, sendbuf, recvbuf):
        """Exchange equal blocks with all ranks of the other group (MPI 4.1, section 6.8)."""
        return self.state.sides, sendbuf, recvbuf, ""

    @collective(inter.alltoall)
    def Alltoallv(self, sendbuf, recvbuf):
        """Exchange blocks of any sizes with all ranks of the other group (6.8)."""
        return self.state.sides, sendbuf, recvbuf, "v"

    @collective(inter.alltoall)
    def Alltoallw(self, sendbuf, recvbuf):
        """Exchange blocks of any sizes and types with all ranks of the other group (6.8)."""
        return self.state.sides, sendbuf, recvbuf, "w"

    @collective(inter.reduce)
    def Reduce(self, sendbuf, recvbuf, op=MPI.SUM, root=0):
        """Combine the vectors of the other group at the root (MPI 4.1, section 6.9.1)."""
        return self.state.sides, sendbuf, recvbuf, op, root

    @collective(inter.allreduce)
    def Allreduce(self, sendbuf, recvbuf, op=MPI.SUM):
        """Combine the vectors of the other group on every rank (MPI 4.1, section 6.9.6)."""
        return self.state.sides, sendbuf, recvbuf, op

    @collective(inter.reduce_scatter_block)
    def Reduce_scatter_block(self, sendbuf, recvbuf, op=MPI.SUM):
        """Combine the other group's vectors, leave each rank one of equal blocks (6.10.1)."""
        return self.state.sides, sendbuf, recvbuf, op

    @collective(inter.reduce_scatter)
    def Reduce_scatter(self, sendbuf, recvbuf, recvcounts, op=MPI.SUM):
        """Combine the other group's vectors, leave each rank `recvcounts[rank]` elements."""
        return self.state.sides, sendbuf, recvbuf, recvcounts, op


def counterpart(comm: native.Comm) -> type:
    """The class of ours for a communicator of MPI's."""
    for ours in (Cartcomm, Graphcomm, Distgraphcomm, Intercomm, Intracomm):
        if isinstance(comm, native_base(ours)):
            return ours
    raise TypeError(f"expecting an intra- or inter-communicator, not {type(comm).__name__}")


def wrap(comm: MPI.Comm) -> Intracomm | Intercomm:
    """The matching communicator of ours for any of MPI's; collective on `comm`.

    Raises TypeError for what is not a communicator, ValueError for COMM_NULL.
    """
    if not isinstance(comm, native.Comm):
        raise TypeError(f"wrap() takes a communicator, not {type(comm).__name__}")
    if comm == MPI.COMM_NULL:
        raise ValueError("wrap() was given MPI.COMM_NULL: this rank is not in the communicator")
    return counterpart(comm)(comm)


open_switches()
