"""Requests: what the non-blocking and persistent forms give back.

A `Request` is an `MPI.Request` and, while its collective is pending, holds a real one that
completes when the collective does. So MPI's own `MPI.Request.Waitall` and the like never return
early: they wait while the helper thread of `mpicoll.execution.progress` moves the collective. The
methods here move it themselves. Where no helper thread may run, requests are `DetachedRequest`,
which MPI's own functions refuse with a TypeError.
"""

from __future__ import annotations

import itertools

from mpi4py import MPI

from mpicoll.errors import fail
from mpicoll.execution import native
from mpicoll.execution.layout import view
from mpicoll.execution.operation import Operation, PersistentOperation
from mpicoll.execution.progress import progress
from mpicoll.execution.together import Together

__all__ = ["DetachedPrequest", "DetachedRequest", "Prequest", "Request", "persistent", "started"]


class _Bell:
    """A receive from oneself that completes when a collective does; ringing sends the message."""

    _mail: native.Intracomm | None = None
    _numbers = itertools.count()
    # A failed collective rings with a byte too many: MPI reports that instead of success.
    _spare = bytearray(64)

    def __init__(self) -> None:
        if _Bell._mail is None:
            _Bell._mail = native.COMM_SELF.Dup()
        self._tag = next(_Bell._numbers) % native.COMM_WORLD.Get_attr(MPI.TAG_UB)
        self.request = _Bell._mail.Irecv([_Bell._spare, 0, MPI.BYTE], 0, self._tag)

    def ring(self, error: BaseException | None) -> None:
        _Bell._mail.Send([_Bell._spare, int(error is not None), MPI.BYTE], 0, self._tag)


def _memory_of_handle(request: native.Request) -> MPI.buffer:
    return view(MPI._addressof(request), MPI._sizeof(request))


class _Started(Together):
    """What every request of ours does; `_operation` is None once it is used up."""

    _operation: Operation | None = None
    _keep: object = None

    @property
    def complete(self) -> bool:
        """True if there is nothing left to wait for."""
        return self._operation is None or self._operation.complete

    @property
    def active(self) -> bool:
        """True if a wait on this request would mean something."""
        return self._operation is not None

    def _launch(self) -> None:
        operation = self._operation
        if isinstance(self, native.Request):
            # Also for what completes at once: MPI's Waitany must return every request once.
            bell = _Bell()
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

    def Wait(self, status: MPI.Status | None = None) -> bool:
        """Wait for the collective; the buffers may be used afterwards."""
        if self._operation is not None and not self._operation.complete:
            progress.finish(self._operation)
        self._settle(status)
        return True

    def Test(self, status: MPI.Status | None = None) -> bool:
        """Move the collective; True if it is complete, and the request used up."""
        if not self.Get_status(status):
            return False
        self._settle(status)
        return True

    def Get_status(self, status: MPI.Status | None = None) -> bool:
        """Move the collective; True if it is complete. The request stays as it is."""
        if not self.complete:
            progress.move()
        return self.complete

    def wait(self, status: MPI.Status | None = None) -> None:
        """As `Wait`; collectives on buffers have no message to return."""
        self.Wait(status)

    def test(self, status: MPI.Status | None = None) -> tuple[bool, None]:
        """As `Test`, with mpi4py's pair of flag and message."""
        return self.Test(status), None

    def get_status(self, status: MPI.Status | None = None) -> bool:
        """As `Get_status`."""
        return self.Get_status(status)

    def Cancel(self) -> None:
        """Refused, as MPI forbids it for collectives."""
        raise fail(MPI.ERR_REQUEST, "a started collective cannot be cancelled")

    def cancel(self) -> None:
        """Refused, as MPI forbids it for collectives."""
        self.Cancel()

    def Free(self) -> None:
        """Forget a completed request; a pending collective cannot be freed."""
        if not self.complete:
            raise fail(MPI.ERR_REQUEST, "a pending collective cannot be freed: wait for it first")
        self._settle()


class _Persistent(_Started):
    """A request that can be started again and again."""

    _prepared: PersistentOperation | None = None

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


class Request(_Started, native.Request):
    """A started collective; also an `MPI.Request`."""

    def __new__(cls, request: native.Request | None = None) -> Request:
        """A request with the handle of another one, as MPI.Request does."""
        return native.Request.__new__(cls, request)


class Prequest(_Persistent, native.Prequest):
    """A persistent collective; also an `MPI.Prequest`, inactive ones being REQUEST_NULL."""

    def __new__(cls, request: native.Request | None = None) -> Prequest:
        """A request with the handle of another one, as MPI.Prequest does."""
        return native.Prequest.__new__(cls, request)


def started(operation: Operation, keep: object) -> Request | DetachedRequest:
    """Start an operation; the request keeps `keep` alive until it is used up."""
    request = Request() if progress.threads else DetachedRequest()
    request._operation, request._keep = operation, keep
    request._launch()
    return request


def persistent(operation: PersistentOperation, keep: object) -> Prequest | DetachedPrequest:
    """A request that starts the operation whenever it is asked to."""
    request = Prequest() if progress.threads else DetachedPrequest()
    request._prepared, request._keep = operation, keep
    return request
