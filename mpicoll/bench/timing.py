"""Timing: candidates in turn, within one run, each iteration as long as its slowest rank."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from mpi4py import MPI

from mpicoll.bench.figures import order

__all__ = ["Action", "Limits", "clock", "clock_facts", "measure", "wait_quietly"]

WARM_UP = 3
clock = time.perf_counter


@dataclass(frozen=True)
class Action:
    """Something to be timed; `before` runs untimed before each turn."""

    run: Callable[[], object]
    before: Callable[[], object] | None = None


@dataclass(frozen=True)
class Limits:
    """When to stop: after `most` iterations or `seconds`, but not before `least` iterations."""

    most: int
    seconds: float
    least: int = 5


def measure(comm: MPI.Intracomm, actions: Sequence[Action], limits: Limits) -> list[list[float]]:
    """Seconds of the iterations of each action: on every rank those of the slowest rank.

    Collective on `comm`, a communicator of MPI's own. All actions have one turn in each iteration,
    in an order that changes, each after a barrier.
    """
    with _undisturbed():
        for i in range(WARM_UP):
            _iteration(comm, actions, i)
        rows: list[list[float]] = []
        start = clock()
        while more := comm.bcast(_chunk(len(rows), clock() - start, limits)):
            for _ in range(more):
                rows.append(_iteration(comm, actions, len(rows)))
    times = np.array(rows)
    comm.Allreduce(MPI.IN_PLACE, times, MPI.MAX)
    return times.T.tolist()


def _iteration(comm: MPI.Intracomm, actions: Sequence[Action], number: int) -> list[float]:
    times = [0.0] * len(actions)
    for which in order(len(actions), number):
        action = actions[which]
        run = action.run
        if action.before is not None:
            action.before()
        comm.Barrier()
        start = clock()
        run()
        times[which] = clock() - start
    return times


def _chunk(done: int, elapsed: float, limits: Limits) -> int:
    """How many iterations to do before looking at the clock again; 0 when it is enough."""
    left = max(1, limits.most) - done
    if left <= 0:
        return 0
    if done < limits.least:
        return min(left, limits.least - done)
    if elapsed >= limits.seconds:
        return 0
    # Never more than were done: the estimate may come from a quiet moment.
    fitting = int((limits.seconds - elapsed) * done / max(elapsed, 1e-9) / 2)
    return min(left, done, max(1, fitting))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep the garbage collector out of the measurement, as timeit does."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def clock_facts() -> dict[str, float]:
    """Resolution of the clock, and what reading it costs, in seconds."""
    stamps = np.array([clock() for _ in range(1000)])
    return {
        "resolution": time.get_clock_info("perf_counter").resolution,
        "reading": float(np.median(np.diff(stamps))),
    }


def wait_quietly(comm: MPI.Intracomm) -> None:
    """A barrier in which those who wait leave the cores to the others."""
    request = comm.Ibarrier()
    while not request.Test():
        time.sleep(0.005)
