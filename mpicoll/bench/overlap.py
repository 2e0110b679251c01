"""How much of a non-blocking collective is hidden behind computation.

As in the OSU micro-benchmarks: the computation is made as long as the collective alone takes, both
are done at once, and ``overlap = 1 - (together - computation) / collective``, at least 0 and at
most 1. The time of a repetition is that of its slowest rank; figures are medians. The three are
measured in turn, for native MPI and for ours without and with the progress thread.

Where all cores compute, messages through shared memory, which cores copy, leave nothing to be won.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from mpi4py import MPI

import mpicoll
from mpicoll.bench.figures import summarise
from mpicoll.bench.options import Options, Task
from mpicoll.bench.result import row
from mpicoll.bench.timing import Action, Limits, measure
from mpicoll.bench.work import Work
from mpicoll.execution.progress import progress

__all__ = ["measured", "overlap_of"]

THREAD = "mpicoll, MPICOLL_PROGRESS=thread"


def overlap_of(collective: float, computation: float, together: float) -> float:
    """The part of the collective's time that the computation hid, from 0 to 1.

    >>> overlap_of(2.0, 2.0, 2.5)
    0.75
    """
    return min(1.0, max(0.0, 1 - (together - computation) / collective))


class _Elsewhere:
    """A computation on another device: the rank only waits, in one go, for pieces of 50 us."""

    piece = 50e-6

    def __call__(self, pieces: int) -> None:
        time.sleep(pieces * self.piece)


class _Computation:
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


def measured(comm: MPI.Intracomm, task: Task, options: Options) -> Iterator[list[dict]]:
    """The rows of each size; collective on `comm`, one of MPI's own."""
    ours = mpicoll.Intracomm(comm.Dup())
    compute = _Elsewhere() if options.elsewhere else _Computation()
    mode = progress.mode
    try:
        for nbytes in task.sizes:
            work = Work(comm, task.collective, nbytes, options.dtype, options.op, options.root)
            yield _size(comm, ours, task, options, work, compute)
    finally:
        progress.mode = mode
        ours.Free()


def _size(
    comm: MPI.Intracomm,
    ours: MPI.Intracomm,
    task: Task,
    options: Options,
    work: Work,
    compute: Callable[[int], None],
) -> list[dict]:
    name = f"I{work.method.name.lower()}"
    contenders = [("mpicoll", ours, "auto")]
    if "native" in options.against:
        contenders.insert(0, ("native", comm, "auto"))
    if MPI.Query_thread() == MPI.THREAD_MULTIPLE:
        contenders.append((THREAD, ours, "thread"))
    limits = Limits(options.iterations, options.seconds)
    alone = [
        Action(partial(_finish, partial(getattr(owner, name), *work.arguments)), _mode(mode))
        for _, owner, mode in contenders
    ]
    estimates = [summarise(own).p50 for own in measure(comm, alone, Limits(5, limits.seconds))]
    pieces = [max(1, round(seconds / compute.piece)) for seconds in estimates]
    # A piece takes another time among several ranks, and in a row: measure, and correct twice.
    for _ in range(2):
        pieces = comm.bcast(pieces)
        trials = [Action(partial(compute, count), _mode("auto")) for count in pieces]
        took = [summarise(own).p50 for own in measure(comm, trials, Limits(5, limits.seconds))]
        pieces = [
            max(1, round(count * wanted / real))
            for count, wanted, real in zip(pieces, estimates, took, strict=True)
        ]
    pieces = comm.bcast(pieces)
    actions = []
    for (_, owner, mode), own, count in zip(contenders, alone, pieces, strict=True):
        start = partial(getattr(owner, name), *work.arguments)
        actions += [
            own,
            Action(partial(compute, count), _mode(mode)),
            Action(partial(_finish, start, partial(compute, count)), _mode(mode)),
        ]
    times = measure(comm, actions, limits)
    verified = _verify(comm, work, alone)
    rows = []
    for i, (who, _, _) in enumerate(contenders):
        collective, computation, together = (summarise(own) for own in times[3 * i : 3 * i + 3])
        independent = {
            "group": task.group,
            "collective": task.collective,
            "form": "non-blocking",
            "library": who.split(",")[0],
            "candidate": who,
            "ranks": work.size,
            "root": options.root,
            "dtype": options.dtype,
            "op": options.op,
            "nbytes": work.nbytes,
            "elsewhere": options.elsewhere,
        }
        more = {
            "computation": computation.p50,
            "collective_alone": collective.p50,
            "overlap": overlap_of(collective.p50, computation.p50, together.p50),
            "verified": verified[i],
        }
        rows.append(row(independent, together, **more))
    return rows


def _finish(start: Callable[[], MPI.Request], compute: Callable[[], None] | None = None) -> None:
    request = start()
    if compute is not None:
        compute()
    request.Wait()


def _mode(mode: str) -> Callable[[], None]:
    return partial(setattr, progress, "mode", mode)


def _verify(comm: MPI.Intracomm, work: Work, actions: list[Action]) -> list[bool]:
    work.expect(comm)
    verified = []
    for each in actions:
        work.reset()
        each.before()
        each.run()
        verified.append(work.right(comm))
    return verified
