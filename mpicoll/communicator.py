"""Communicators with mpi4py's interface whose collectives run on point-to-point messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from mpi4py import MPI

from mpicoll.execution import calls
from mpicoll.execution.calls import Call
from mpicoll.execution.state import State, state_of

__all__ = ["Cartcomm", "Distgraphcomm", "Graphcomm", "Intracomm", "wrap"]


class Intracomm(MPI.Intracomm):
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

    def _do(
        self,
        read: Callable[..., Call],
        arguments: tuple,
        algorithm: str | None,
        parameters: dict[str, object],
    ) -> None:
        state = self.state
        tag = state.next_tag()
        call = read(state.rank, state.size, *arguments)
        state.perform(call, tag, algorithm, parameters)

    # Names, arguments and defaults below are mpi4py's.

    def Barrier(self, *, algorithm: str | None = None, **parameters: object) -> None:
        """Wait until every rank has called (MPI 4.1, section 6.3)."""
        self._do(calls.barrier, (), algorithm, parameters)

    def Bcast(
        self, buf: object, root: int = 0, *, algorithm: str | None = None, **parameters: object
    ) -> None:
        """Send the root's `buf` to every rank (MPI 4.1, section 6.4)."""
        self._do(calls.bcast, (buf, root), algorithm, parameters)

    def Gather(
        self,
        sendbuf: object,
        recvbuf: object,
        root: int = 0,
        *,
        algorithm: str | None = None,
        **parameters: object,
    ) -> None:
        """Collect equal blocks of all ranks at the root (MPI 4.1, section 6.5)."""
        self._do(calls.gather, (sendbuf, recvbuf, root, False), algorithm, parameters)

    def Gatherv(
        self,
        sendbuf: object,
        recvbuf: object,
        root: int = 0,
        *,
        algorithm: str | None = None,
        **parameters: object,
    ) -> None:
        """Collect blocks of any sizes at the root (MPI 4.1, section 6.5)."""
        self._do(calls.gather, (sendbuf, recvbuf, root, True), algorithm, parameters)

    def Scatter(
        self,
        sendbuf: object,
        recvbuf: object,
        root: int = 0,
        *,
        algorithm: str | None = None,
        **parameters: object,
    ) -> None:
        """Deal out equal blocks of the root (MPI 4.1, section 6.6)."""
        self._do(calls.scatter, (sendbuf, recvbuf, root, False), algorithm, parameters)

    def Scatterv(
        self,
        sendbuf: object,
        recvbuf: object,
        root: int = 0,
        *,
        algorithm: str | None = None,
        **parameters: object,
    ) -> None:
        """Deal out blocks of any sizes of the root (MPI 4.1, section 6.6)."""
        self._do(calls.scatter, (sendbuf, recvbuf, root, True), algorithm, parameters)

    def Allgather(
        self,
        sendbuf: object,
        recvbuf: object,
        *,
        algorithm: str | None = None,
        **parameters: object,
    ) -> None:
        """Collect equal blocks of all ranks on every rank (MPI 4.1, section 6.7)."""
        self._do(calls.allgather, (sendbuf, recvbuf, False), algorithm, parameters)

    def Allgatherv(
        self,
        sendbuf: object,
        recvbuf: object,
        *,
        algorithm: str | None = None,
        **parameters: object,
    ) -> None:
        """Collect blocks of any sizes on every rank (MPI 4.1, section 6.7)."""
        self._do(calls.allgather, (sendbuf, recvbuf, True), algorithm, parameters)

    def Alltoall(
        self,
        sendbuf: object,
        recvbuf: object,
        *,
        algorithm: str | None = None,
        **parameters: object,
    ) -> None:
        """Exchange equal blocks between all ranks (MPI 4.1, section 6.8)."""
        self._do(calls.alltoall, (sendbuf, recvbuf), algorithm, parameters)

    def Alltoallv(
        self,
        sendbuf: object,
        recvbuf: object,
        *,
        algorithm: str | None = None,
        **parameters: object,
    ) -> None:
        """Exchange blocks of any sizes between all ranks (MPI 4.1, section 6.8)."""
        self._do(calls.alltoall, (sendbuf, recvbuf, "v"), algorithm, parameters)

    def Alltoallw(
        self,
        sendbuf: object,
        recvbuf: object,
        *,
        algorithm: str | None = None,
        **parameters: object,
    ) -> None:
        """Exchange blocks of any sizes and datatypes between all ranks (MPI 4.1, section 6.8)."""
        self._do(calls.alltoall, (sendbuf, recvbuf, "w"), algorithm, parameters)

    def Reduce(
        self,
        sendbuf: object,
        recvbuf: object,
        op: MPI.Op = MPI.SUM,
        root: int = 0,
        *,
        algorithm: str | None = None,
        **parameters: object,
    ) -> None:
        """Combine the vectors of all ranks at the root (MPI 4.1, section 6.9.1)."""
        self._do(calls.reduce, (sendbuf, recvbuf, op, root), algorithm, parameters)

    def Allreduce(
        self,
        sendbuf: object,
        recvbuf: object,
        op: MPI.Op = MPI.SUM,
        *,
        algorithm: str | None = None,
        **parameters: object,
    ) -> None:
        """Combine the vectors of all ranks on every rank (MPI 4.1, section 6.9.6)."""
        self._do(calls.allreduce, (sendbuf, recvbuf, op), algorithm, parameters)

    def Reduce_scatter_block(
        self,
        sendbuf: object,
        recvbuf: object,
        op: MPI.Op = MPI.SUM,
        *,
        algorithm: str | None = None,
        **parameters: object,
    ) -> None:
        """Combine vectors and leave each rank one of equal blocks (MPI 4.1, section 6.10.1)."""
        self._do(calls.reduce_scatter_block, (sendbuf, recvbuf, op), algorithm, parameters)

    def Reduce_scatter(
        self,
        sendbuf: object,
        recvbuf: object,
        recvcounts: Sequence[int] | None = None,
        op: MPI.Op = MPI.SUM,
        *,
        algorithm: str | None = None,
        **parameters: object,
    ) -> None:
        """Combine vectors and leave each rank a block of `recvcounts[rank]` elements.

        Without `recvcounts` each rank's count is that of its receive buffer, and ranks tell each
        other first (MPI 4.1, section 6.10.2; the default is mpi4py's).
        """
        if recvcounts is None:
            recvcounts = self._counts_of(recvbuf)
        arguments = (sendbuf, recvbuf, recvcounts, op)
        self._do(calls.reduce_scatter, arguments, algorithm, parameters)

    def _counts_of(self, recvbuf: object) -> list[int]:
        own = calls.read_message(recvbuf, writable=True).count
        counts = np.zeros(self.state.size, "i8")
        Intracomm.Allgather(self, np.array([own], "i8"), counts)
        return counts.tolist()

    def Scan(
        self,
        sendbuf: object,
        recvbuf: object,
        op: MPI.Op = MPI.SUM,
        *,
        algorithm: str | None = None,
        **parameters: object,
    ) -> None:
        """Combine the vectors of ranks 0 to one's own (MPI 4.1, section 6.11.1)."""
        self._do(calls.scan, (sendbuf, recvbuf, op), algorithm, parameters)

    def Exscan(
        self,
        sendbuf: object,
        recvbuf: object,
        op: MPI.Op = MPI.SUM,
        *,
        algorithm: str | None = None,
        **parameters: object,
    ) -> None:
        """Combine the vectors of the ranks before one's own; rank 0 gets nothing (6.11.2)."""
        self._do(calls.exscan, (sendbuf, recvbuf, op), algorithm, parameters)


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
