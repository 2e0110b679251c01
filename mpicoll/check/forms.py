"""The forms in which a call can be made: one entry in a table for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mpi4py import MPI

from mpicoll.communicator import Intracomm

__all__ = ["FORMS", "Made"]


class Made(NamedTuple):
    """A call with its arguments: `start` and `finish` make it, again and again, until `free`."""

    start: Callable[[], object]
    finish: Callable[[], object]
    free: Callable[[], object]


def _nothing() -> None:
    pass


def _blocking(comm: Intracomm, name: str, arguments: list, keywords: dict) -> Made:
    method = getattr(comm, name)
    return Made(lambda: method(*arguments, **keywords), _nothing, _nothing)


def _nonblocking(comm: Intracomm, name: str, arguments: list, keywords: dict) -> Made:
    method = getattr(comm, "I" + name[0].lower() + name[1:])
    requests: list[MPI.Request] = []
    return Made(
        lambda: requests.append(method(*arguments, **keywords)),
        lambda: requests.pop().Wait(),
        _nothing,
    )


def _persistent(comm: Intracomm, name: str, arguments: list, keywords: dict) -> Made:
    request = getattr(comm, f"{name}_init")(*arguments, **keywords)
    return Made(request.Start, request.Wait, request.Free)


#: By name: (communicator, MPI call, arguments, keywords) -> the call, ready to be made.
FORMS: dict[str, Callable[[Intracomm, str, list, dict], Made]] = {
    "blocking": _blocking,
    "non-blocking": _nonblocking,
    "persistent": _persistent,
}
