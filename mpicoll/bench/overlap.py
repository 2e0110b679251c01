"""How much of a non-blocking collective is hidden behind computation.

As in the OSU micro-benchmarks: the computation is made as long as the collective alone takes, both
are done at once, and ``overlap = 1 - (together - computation) / collective``, at least 0 and at
most 1. The time of a repetition is that of its slowest rank; figures are medians.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from mpi4py import MPI

import mpicoll
from mpicoll.execution.progress import progress

__all__ = ["Overlap", "measure"]


@dataclass(frozen=True)
class Overlap:
    """One row: who communicated how many bytes, times in seconds, and the overlap (0 to 1)."""

    who: str
    nbytes: int
    collective: float
    computation: float
    together: float

    @property
    def overlap(self) -> float:
        """The part of the collective's time that the computation hid."""
        hidden = 1 - (self.together - self.computation) / self.collective
        return min(1.0, max(0.0, hidden))

    def row(self) -> dict:
        """The figures by name, for JSON."""
        return {**asdict(self), "overlap": self.overlap}


class _Work:
    """A computation of one thread that can be made as long as wished, in pieces of some 50 us."""

    def __init__(self) -> None:
        self.numbers = np.random.default_rng(1).random(8192)
        self.out = np.empty_like(self.numbers)
        self(20)
        start = time.perf_counter()
        self(200)
        self.piece = (time.perf_counter() - start) / 200

    def __call__(self, pieces: int) -> None:
        for _ in range(pieces):
            np.exp(self.numbers, out=self.out)


def _slowest(comm: MPI.Intracomm, action: Callable[[], None], repetitions: int) -> float:
    times = np.empty(repetitions)
    for i in range(repetitions):
        comm.Barrier()
        start = time.perf_counter()
        action()
        times[i] = time.perf_counter() - start
    comm.Allreduce(MPI.IN_PLACE, times, MPI.MAX)
    return statistics.median(times.tolist())


def measure(comm: MPI.Intracomm, sizes: list[int], repetitions: int) -> list[Overlap]:
    """Rows for native Iallreduce and for ours without and with the progress thread.

    `comm` is a plain communicator; `sizes` are bytes of float32. Rows are the same on all ranks.
    """
    ours = mpicoll.wrap(comm)
    work = _Work()
    rows = []
    for nbytes in sizes:
        send, receive = np.ones(nbytes // 4, "f4"), np.zeros(nbytes // 4, "f4")
        for who, communicator, mode in (
            ("native", comm, progress.mode),
            ("mpicoll", ours, "auto"),
            ("mpicoll, MPICOLL_PROGRESS=thread", ours, "thread"),
        ):
            before, progress.mode = progress.mode, mode
            rows.append(_row(comm, communicator, who, send, receive, work, repetitions))
            progress.mode = before
    return rows


def _row(
    comm: MPI.Intracomm,
    communicator: MPI.Intracomm,
    who: str,
    send: np.ndarray,
    receive: np.ndarray,
    work: _Work,
    repetitions: int,
) -> Overlap:
    def alone() -> None:
        communicator.Iallreduce(send, receive).Wait()

    _slowest(comm, alone, 3)
    collective = _slowest(comm, alone, repetitions)
    pieces = max(1, round(collective / work.piece))
    pieces = int(comm.allreduce(pieces, op=MPI.MAX))
    computation = _slowest(comm, lambda: work(pieces), repetitions)

    def both() -> None:
        request = communicator.Iallreduce(send, receive)
        work(pieces)
        request.Wait()

    together = _slowest(comm, both, repetitions)
    return Overlap(who, send.nbytes, collective, computation, together)
