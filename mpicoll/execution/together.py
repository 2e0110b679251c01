"""Waiting and testing for several requests, ours and MPI's, mixed in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps

from mpi4py import MPI

from mpicoll.execution import native
from mpicoll.execution.natively import natively
from mpicoll.execution.progress import progress
from mpicoll.execution.standin import StandIn

__all__ = ["Together"]

Statuses = list[MPI.Status] | None


def _ours(request: object) -> bool:
    return isinstance(request, Together) and not request.foreign


def _active(request: object) -> bool:
    return request.active if _ours(request) else request != MPI.REQUEST_NULL


def _done(request: object) -> bool:
    return request.complete if _ours(request) else native.Request.Get_status(request)


def _take(request: object, status: MPI.Status | None, pickled: bool) -> object:
    """Use up a request that is done; its message in the lower-case forms."""
    if _ours(request):
        return request._settle(status)
    if pickled:
        return native.Request.wait(request, status)
    native.Request.Wait(request, status)
    return None


def _fill(statuses: Statuses, count: int) -> list:
    """A status for each of `count` requests: the caller's list, made longer if it must be."""
    if statuses is None:
        return [None] * count
    statuses.extend(MPI.Status() for _ in range(count - len(statuses)))
    return statuses


def _wait_all(requests: Sequence, statuses: Statuses, pickled: bool) -> list:
    progress.until(lambda: all(map(_done, requests)))
    filled = _fill(statuses, len(requests))
    pairs = zip(requests, filled, strict=False)
    return [_take(request, status, pickled) for request, status in pairs]


def _find(requests: Sequence) -> int | None:
    """The first active request that is done; UNDEFINED if none is active, None if none is done."""
    active = [i for i, request in enumerate(requests) if _active(request)]
    if not active:
        return MPI.UNDEFINED
    return next((i for i in active if _done(requests[i])), None)


def _find_some(requests: Sequence) -> list[int] | None:
    """All active requests that are done; None if none is active."""
    active = [i for i, request in enumerate(requests) if _active(request)]
    return [i for i in active if _done(requests[i])] if active else None


def _take_one(requests: Sequence, index: int, status: MPI.Status | None, pickled: bool) -> object:
    return None if index == MPI.UNDEFINED else _take(requests[index], status, pickled)


def _take_some(
    requests: Sequence, found: list[int] | None, statuses: Statuses, pickled: bool
) -> list | None:
    if found is None:
        return None
    filled = _fill(statuses, len(found))
    pairs = zip(found, filled, strict=False)
    return [_take(requests[i], status, pickled) for i, status in pairs]


def _or_native(cls: type) -> type:
    """Leave lists without a request of ours to MPI, in all functions of a class that take one."""
    for name, function in list(vars(cls).items()):
        if isinstance(function, classmethod) and not name.startswith("_"):
            setattr(cls, name, classmethod(_choosing(name, function.__func__)))
    return cls


def _choosing(name: str, method: Callable) -> Callable:
    @wraps(method)
    def call(cls: type, requests: Sequence, *rest: object, **keywords: object) -> object:
        if any(map(_ours, requests)):
            return method(cls, requests, *rest, **keywords)
        return natively(name, requests, *rest, **keywords)

    return call


@_or_native
class Together(metaclass=StandIn):
    """The functions of MPI.Request that take several requests, in mpi4py's two spellings."""

    @classmethod
    def Waitall(cls, requests: Sequence, statuses: Statuses = None) -> bool:
        """Wait for all."""
        _wait_all(requests, statuses, False)
        return True

    @classmethod
    def waitall(cls, requests: Sequence, statuses: Statuses = None) -> list:
        """Wait for all; their messages (None for collectives)."""
        return _wait_all(requests, statuses, True)

    @classmethod
    def Testall(cls, requests: Sequence, statuses: Statuses = None) -> bool:
        """True, and all used up, if all are complete."""
        progress.move()
        if not all(map(_done, requests)):
            return False
        _wait_all(requests, statuses, False)
        return True

    @classmethod
    def testall(cls, requests: Sequence, statuses: Statuses = None) -> tuple[bool, list | None]:
        """As `Testall`, with the messages."""
        progress.move()
        if not all(map(_done, requests)):
            return False, None
        return True, _wait_all(requests, statuses, True)

    @classmethod
    def Get_status_all(cls, requests: Sequence, statuses: Statuses = None) -> bool:
        """True if all are complete; none is used up."""
        progress.move()
        return all(map(_done, requests))

    get_status_all = Get_status_all

    @classmethod
    def Waitany(cls, requests: Sequence, status: MPI.Status | None = None) -> int:
        """Wait for one; its index, or UNDEFINED if none is active."""
        return cls._wait_any(requests, status, False)[0]

    @classmethod
    def waitany(cls, requests: Sequence, status: MPI.Status | None = None) -> tuple[int, object]:
        """As `Waitany`, with the message."""
        return cls._wait_any(requests, status, True)

    @classmethod
    def _wait_any(
        cls, requests: Sequence, status: MPI.Status | None, pickled: bool
    ) -> tuple[int, object]:
        progress.until(lambda: _find(requests) is not None)
        index = _find(requests)
        return index, _take_one(requests, index, status, pickled)

    @classmethod
    def Testany(cls, requests: Sequence, status: MPI.Status | None = None) -> tuple[int, bool]:
        """The index of a complete one, or UNDEFINED, and whether one is complete or none active."""
        return cls._test_any(requests, status, False)[:2]

    @classmethod
    def testany(
        cls, requests: Sequence, status: MPI.Status | None = None
    ) -> tuple[int, bool, object]:
        """As `Testany`, with the message."""
        return cls._test_any(requests, status, True)

    @classmethod
    def _test_any(
        cls, requests: Sequence, status: MPI.Status | None, pickled: bool
    ) -> tuple[int, bool, object]:
        progress.move()
        index = _find(requests)
        if index is None:
            return MPI.UNDEFINED, False, None
        return index, True, _take_one(requests, index, status, pickled)

    @classmethod
    def Get_status_any(
        cls, requests: Sequence, status: MPI.Status | None = None
    ) -> tuple[int, bool]:
        """As `Testany`, but none is used up."""
        progress.move()
        index = _find(requests)
        return (MPI.UNDEFINED, False) if index is None else (index, True)

    get_status_any = Get_status_any

    @classmethod
    def Waitsome(cls, requests: Sequence, statuses: Statuses = None) -> list[int] | None:
        """Wait for at least one; the indices of those complete, or None if none is active."""
        return cls._wait_some(requests, statuses, False)[0]

    @classmethod
    def waitsome(
        cls, requests: Sequence, statuses: Statuses = None
    ) -> tuple[list[int] | None, list | None]:
        """As `Waitsome`, with the messages."""
        return cls._wait_some(requests, statuses, True)

    @classmethod
    def _wait_some(
        cls, requests: Sequence, statuses: Statuses, pickled: bool
    ) -> tuple[list[int] | None, list | None]:
        progress.until(lambda: _find_some(requests) != [])
        return cls._test_some(requests, statuses, pickled)

    @classmethod
    def Testsome(cls, requests: Sequence, statuses: Statuses = None) -> list[int] | None:
        """The indices of those complete, or None if none is active."""
        return cls._test_some(requests, statuses, False)[0]

    @classmethod
    def testsome(
        cls, requests: Sequence, statuses: Statuses = None
    ) -> tuple[list[int] | None, list | None]:
        """As `Testsome`, with the messages."""
        return cls._test_some(requests, statuses, True)

    @classmethod
    def _test_some(
        cls, requests: Sequence, statuses: Statuses, pickled: bool
    ) -> tuple[list[int] | None, list | None]:
        progress.move()
        found = _find_some(requests)
        return found, _take_some(requests, found, statuses, pickled)

    @classmethod
    def Get_status_some(cls, requests: Sequence, statuses: Statuses = None) -> list[int] | None:
        """As `Testsome`, but none is used up."""
        progress.move()
        return _find_some(requests)

    get_status_some = Get_status_some
