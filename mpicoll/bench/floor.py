"""The floor of an algorithm: its own messages and local reductions, and nothing else.

This is what a person would write by hand for this one call, with every buffer, peer and tag known
beforehand: no arguments to read, no plan to look up, no loop that asks what comes next.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from mpi4py import MPI

from mpicoll.execution import native
from mpicoll.execution.bind import SENDRECV, Bound, BoundRound

__all__ = ["Floor"]

TAG = 1


class Floor:
    """The raw calls of a bound plan on a communicator of MPI's own."""

    def __init__(self, bound: Bound, comm: MPI.Intracomm) -> None:
        self._bound = bound  # keeps scratch and datatypes alive
        self._calls = [call for steps in bound.rounds for call in _calls(steps, comm)]

    def __call__(self) -> None:
        """Make all calls."""
        for call in self._calls:
            call()

    def free(self) -> None:
        """Give back what the bound plan holds."""
        self._calls = []
        self._bound.free()


def _calls(steps: BoundRound, comm: MPI.Intracomm) -> list[Callable[[], object]]:
    calls: list[Callable[[], object]] = []
    if steps.kind == SENDRECV:
        (received, source), (sent, dest) = steps.receives[0], steps.sends[0]
        calls.append(partial(comm.Sendrecv, sent, dest, TAG, received, source, TAG))
    elif len(steps.receives) + len(steps.sends) == 1:
        calls += [partial(comm.Recv, spec, source, TAG) for spec, source in steps.receives]
        calls += [partial(comm.Send, spec, dest, TAG) for spec, dest in steps.sends]
    elif steps.receives or steps.sends:
        posts = [partial(comm.Irecv, spec, source, TAG) for spec, source in steps.receives]
        posts += [partial(comm.Isend, spec, dest, TAG) for spec, dest in steps.sends]
        calls.append(partial(_together, posts))
    return [*calls, *steps.local]


def _together(posts: Sequence[Callable[[], MPI.Request]]) -> None:
    native.Request.Waitall([post() for post in posts])
