"""The buffers of a measured collective, its arguments, and whether its result is right."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from mpi4py import MPI

from mpicoll.execution import moving, reducing
from mpicoll.execution.calls import Call

__all__ = ["METHODS", "Work"]


class Method(NamedTuple):
    """An MPI call and the sizes of its buffers.

    `send` and `receive` are "whole" (the vector), "block" (a rank's part of it) or "" (none), with
    "@root" where that is so at the root only.
    """

    name: str
    send: str
    receive: str


METHODS = {
    "barrier": Method("Barrier", "", ""),
    "bcast": Method("Bcast", "", "whole"),
    "reduce": Method("Reduce", "whole", "whole@root"),
    "allreduce": Method("Allreduce", "whole", "whole"),
    "scatter": Method("Scatter", "whole@root", "block"),
    "gather": Method("Gather", "block", "whole@root"),
    "allgather": Method("Allgather", "block", "whole"),
    "reduce_scatter": Method("Reduce_scatter_block", "whole", "block"),
    "alltoall": Method("Alltoall", "whole", "whole"),
    "scan": Method("Scan", "whole", "whole"),
    "exscan": Method("Exscan", "whole", "whole"),
}
_BLOCKS = ("scatter", "gather", "allgather", "reduce_scatter", "alltoall")


class Work:
    """One collective on one rank: what is sent, where it arrives, what must arrive.

    `nbytes` is what the whole collective works on, as in nccl-tests: the vector of a reduction or
    a broadcast, otherwise the blocks of all ranks together. It is the wished number rounded up to
    elements, and to a multiple of the ranks where each has a block.
    """

    def __init__(
        self, comm: MPI.Intracomm, collective: str, nbytes: int, dtype: str, op: str, root: int
    ) -> None:
        self.collective, self.method, self.root = collective, METHODS[collective], root
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.op: MPI.Op = getattr(MPI, op)
        kind = np.dtype(dtype)
        unit = self.size if collective in _BLOCKS else 1
        self.count = 0
        if collective != "barrier":
            self.count = -(-nbytes // (kind.itemsize * unit)) * unit
        self.nbytes = self.count * kind.itemsize
        self.send = self._buffer(self.method.send, kind)
        self.receive = self._buffer(self.method.receive, kind)
        if self.send is not None:
            self._fill(self.send, largest=2 if op == "PROD" else 5)
        self._expected: np.ndarray | None = None
        self.reset()

    def _buffer(self, what: str, kind: np.dtype) -> np.ndarray | None:
        what, _, where = what.partition("@")
        if not what or (where and self.rank != self.root):
            return None
        return np.empty(self.count // (self.size if what == "block" else 1), kind)

    def _fill(self, array: np.ndarray, largest: int) -> None:
        """Small whole numbers, of which sums and products are exact in any order."""
        period = (np.arange(largest * 3) * 7 // 3 + self.rank) % largest + 1
        array[:] = np.resize(period.astype(array.dtype), array.size)

    @property
    def arguments(self) -> tuple:
        """The arguments of the MPI call."""
        match self.collective:
            case "barrier":
                return ()
            case "bcast":
                return self.receive, self.root
            case "reduce":
                return self.send, self.receive, self.op, self.root
            case "gather" | "scatter":
                return self.send, self.receive, self.root
            case "allgather" | "alltoall":
                return self.send, self.receive
        return self.send, self.receive, self.op

    def call(self) -> Call:
        """The call as execution reads it."""
        arguments = self.arguments
        if self.collective in ("gather", "scatter", "allgather"):
            arguments = (*arguments, False)
        name = "reduce_scatter_block" if self.collective == "reduce_scatter" else self.collective
        reader = getattr(moving, name, None) or getattr(reducing, name)
        return reader(self.rank, self.size, *arguments)

    def reset(self) -> None:
        """Make the receive buffer hold what no result is."""
        if self.receive is None:
            return
        if self.collective == "bcast" and self.rank == self.root:
            self._fill(self.receive, largest=5)
        else:
            self.receive.fill(99)

    def expect(self, comm: MPI.Intracomm) -> None:
        """Let native MPI say what the result is; collective."""
        self.reset()
        getattr(comm, self.method.name)(*self.arguments)
        self._expected = None if self.receive is None else self.receive.copy()

    def right(self, comm: MPI.Intracomm) -> bool:
        """True if all ranks have received what `expect` saw; collective."""
        mine = self._expected is None or np.array_equal(self.receive, self._expected)
        return bool(comm.allreduce(int(mine), op=MPI.MIN))

    def forget(self) -> None:
        """Drop what is expected, so that its memory does not weigh on the measurement."""
        self._expected = None
