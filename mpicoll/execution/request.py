"""Requests: what the non-blocking and persistent forms give back.

A `Request` is an `MPI.Request` and, while its collective is pending, holds a real one that
completes when the collective does. So MPI's own `MPI.Request.Waitall` and the like never return
early: they wait while the helper thread of `mpicoll.execution.progress` moves the collective. The
methods here move it themselves. Where no helper thread may run, requests are `DetachedRequest`,
which MPI's own functions refuse with a TypeError.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from mpi4py import MPI

from mpicoll.errors import fail
from mpicoll.execution import native
from mpicoll.execution.bell import Bell
from mpicoll.execution.layout import view
from mpicoll.execution.operation import Operation, PersistentOperation
from mpicoll.execution.progress import progress
from mpicoll.execution.together import Together

__all__ = ["DetachedPrequest", "DetachedRequest", "Prequest", "Request", "persistent", "started"]


def _memory_of_handle(request: native.Request) -> MPI.buffer:
    return view(MPI._addressof(request), MPI._sizeof(request))


def _or_native(method: Callable) -> Callable:
    """Leave a method to MPI where the request is a message of MPI's."""

    @wraps(method)
    def call(self: _Started, *arguments: object, **keywords: object) -> object:
        if self.foreign:
            return getattr(self._native, method.__name__)(self, *arguments, **keywords)
        return method(self, *arguments, **keywords)

    return call


class _Started(Together):
    """What every request of ours does; `_operation` is None once it is used up."""

    _operation: Operation | None = None
    _keep: object = None
    _own = False  # True for those that a collective has given back

    @property
    def complete(self) -> bool:
        """True if there is nothing left to wait for."""
        return self._operation is None or self._operation.complete

    @property
    def foreign(self) -> bool:
        """True for a message of MPI's in our class, which can be made from any request."""
        return not self._own and isinstance(self, native.Request)

    @property
    def active(self) -> bool:
        """True if a wait on this request would mean something."""
        return self._operation is not None

    def _launch(self) -> None:
        operation = self._operation
        if isinstance(self, native.Request):
            # Also for what completes at once: MPI's Waitany must return every request once.
            bell = Bell()
            _memory_of_handle(self)[:] = _memory_of_handle(bell.request)
            operation.at_end.append(bell.ring)
        if not operation.start():
            progress.add(operation)

    def _settle(self, status: MPI.Status | None = None) -> None:
        """Use up the completed request and raise what went wrong in its collective."""
        if status is not None:
            status.Set_source(MPI.ANY_SOURCE)
            status.Set_tag(MPI.ANY_TAG)
            status.Set_error(MPI.SUCCESS)
            status.Set_elements(MPI.BYTE, 0)
        operation = self._operation
        if operation is None:
            return
        if isinstance(self, native.Request) and self != MPI.REQUEST_NULL:
            try:
                native.Request.Wait(self)
            except MPI.Exception:
                # The bell of a failed collective; the cause itself is raised below.
                if operation.error is None:
                    raise
        self._used()
        operation.check()

    def _used(self) -> None:
        self._operation = self._keep = None

    @_or_native
    def Wait(self, status: MPI.Status | None = None) -> bool:
        """Wait for the collective; the buffers may be used afterwards."""
        if self._operation is not None and not self._operation.complete:
            progress.finish(self._operation)
        self._settle(status)
        return True

    @_or_native
    def Test(self, status: MPI.Status | None = None) -> bool:
        """Move the collective; True if it is complete, and the request used up."""
        if not self.Get_status(status):
            return False
        self._settle(status)
        return True

    @_or_native
    def Get_status(self, status: MPI.Status | None = None) -> bool:
        """Move the collective; True if it is complete. The request stays as it is."""
        if not self.complete:
            progress.move()
        return self.complete

    @_or_native
    def wait(self, status: MPI.Status | None = None) -> None:
        """As `Wait`; collectives on buffers have no message to return."""
        self.Wait(status)

    @_or_native
    def test(self, status: MPI.Status | None = None) -> tuple[bool, None]:
        """As `Test`, with mpi4py's pair of flag and message."""
        return self.Test(status), None

    @_or_native
    def get_status(self, status: MPI.Status | None = None) -> bool:
        """As `Get_status`."""
        return self.Get_status(status)

    @_or_native
    def Cancel(self) -> None:
        """Refused, as MPI forbids it for collectives."""
        raise fail(MPI.ERR_REQUEST, "a started collective cannot be cancelled")

    @_or_native
    def cancel(self) -> None:
        """Refused, as MPI forbids it for collectives."""
        self.Cancel()

    @_or_native
    def Free(self) -> None:
        """Forget a completed request; a pending collective cannot be freed."""
        if not self.complete:
            raise fail(MPI.ERR_REQUEST, "a pending collective cannot be freed: wait for it first")
        self._settle()


class _Persistent(_Started):
    """A request that can be started again and again."""

    _prepared: PersistentOperation | None = None

    @_or_native
    def Start(self) -> None:
        """Start the collective on the buffers it was made for, as they are now."""
        if self._prepared is None:
            raise fail(MPI.ERR_REQUEST, "this persistent collective has been freed")
        if self._operation is not None:
            raise fail(MPI.ERR_REQUEST, "this persistent collective is active: wait for it first")
        self._operation = self._prepared
        self._operation.at_end.clear()
        self._launch()

    def _used(self) -> None:
        self._operation = None

    @_or_native
    def Free(self) -> None:
        """Free the collective; it must not be active."""
        super().Free()
        if self._prepared is not None:
            self._prepared.free()
            self._prepared = self._keep = None

    @classmethod
    def Startall(cls, requests: list) -> None:
        """Start all, MPI's own persistent requests among them too."""
        for request in requests:
            request.Start()


class DetachedRequest(_Started):
    """A started collective that only mpicoll can wait for."""


class DetachedPrequest(_Persistent):
    """A persistent collective that only mpicoll can wait for."""


class _OfMPI:
    """What a class that is also one of MPI's needs besides."""

    _native: type[native.Request]

    @classmethod
    def fromhandle(cls, handle: int) -> native.Request:
        """The request of a handle."""
        return cls(cls._native.fromhandle(handle))

    @classmethod
    def fromint(cls, arg: int, /) -> native.Request:
        """The request of MPI's number for it."""
        return cls(cls._native.fromint(arg))

    @classmethod
    def f2py(cls, arg: int) -> native.Request:
        """The request of Fortran's number for it."""
        return cls(cls._native.f2py(arg))


class Request(_OfMPI, _Started, native.Request):
    """A started collective; also an `MPI.Request`."""

    _native = native.Request

    def __new__(cls, request: native.Request | None = None) -> Request:
        """A request with the handle of another one, as MPI.Request does."""
        return native.Request.__new__(cls, request)


class Prequest(_OfMPI, _Persistent, native.Prequest):
    """A persistent collective; also an `MPI.Prequest`, inactive ones being REQUEST_NULL."""

    _native = native.Prequest

    def __new__(cls, request: native.Request | None = None) -> Prequest:
        """A request with the handle of another one, as MPI.Prequest does."""
        return native.Prequest.__new__(cls, request)


def started(operation: Operation, keep: object) -> Request | DetachedRequest:
    """Start an operation; the request keeps `keep` alive until it is used up."""
    request = Request() if progress.threads else DetachedRequest()
    request._own, request._operation, request._keep = True, operation, keep
    request._launch()
    return request


def persistent(operation: PersistentOperation, keep: object) -> Prequest | DetachedPrequest:
    """A request that starts the operation whenever it is asked to."""
    request = Prequest() if progress.threads else DetachedPrequest()
    request._own, request._prepared, request._keep = True, operation, keep
    return request
