"""Requests of watched messages: what is waited for is noted, and what has been done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mpi4py import MPI

from mpicoll.diagnosis import record as form
from mpicoll.execution import native, request

if TYPE_CHECKING:
    from mpicoll.diagnosis.flight import Recorder
    from mpicoll.diagnosis.watch import Ways

__all__ = ["WatchedRequest", "group_methods", "watched_request", "watch_own_waits"]


class WatchedRequest(native.Request):
    """A request of MPI's for a message that is noted."""

    ways: Ways
    number: int
    wild: bool

    def _ended(self, status: MPI.Status | None) -> None:
        self.ways.received(self.number, self.wild and status is not None, status)

    def _status(self, status: MPI.Status | None) -> MPI.Status | None:
        return MPI.Status() if self.wild and status is None else status

    def Wait(self, status: MPI.Status | None = None) -> bool:
        """As MPI's."""
        return self._waiting("Wait", status)

    def wait(self, status: MPI.Status | None = None) -> object:
        """As mpi4py's."""
        return self._waiting("wait", status)

    def _waiting(self, name: str, status: MPI.Status | None) -> object:
        status = self._status(status)
        writer = self.ways.writer
        writer.inside(form.IN_MESSAGES, writer.name(name), (self.number,))
        try:
            return getattr(native.Request, name)(self, status)
        finally:
            writer.outside()
            self._ended(status)

    def Test(self, status: MPI.Status | None = None) -> bool:
        """As MPI's."""
        status = self._status(status)
        done = native.Request.Test(self, status)
        if done:
            self._ended(status)
        return done

    def test(self, status: MPI.Status | None = None) -> tuple[bool, object]:
        """As mpi4py's."""
        status = self._status(status)
        done, message = native.Request.test(self, status)
        if done:
            self._ended(status)
        return done, message


def watched_request(made: native.Request, ways: Ways, number: int, wild: bool) -> WatchedRequest:
    """The same request, watched; it keeps the buffers of the other alive."""
    watched = WatchedRequest(made)
    watched.ways, watched.number, watched.wild = ways, number, wild
    return watched


#: Which of the requests are done after a call, by what it returned.
_DONE: dict[str, Callable[[object, int], Sequence[int]]] = {
    "Waitall": lambda found, count: range(count),
    "waitall": lambda found, count: range(count),
    "Waitany": lambda found, count: [found],
    "waitany": lambda found, count: [found[0]],
    "Waitsome": lambda found, count: found or [],
    "waitsome": lambda found, count: found[0] or [],
    "Testall": lambda found, count: range(count) if found else [],
    "testall": lambda found, count: range(count) if found[0] else [],
    "Testany": lambda found, count: [found[0]] if found[1] else [],
    "testany": lambda found, count: [found[0]] if found[1] else [],
    "Testsome": lambda found, count: found or [],
    "testsome": lambda found, count: found[0] or [],
}


def group_methods(recorder: Recorder, base: type) -> dict[str, classmethod]:
    """The functions of MPI.Request that take several requests, around those of `base`."""
    return {name: classmethod(_together(recorder, base, name)) for name in _DONE}


def _together(recorder: Recorder, base: type, name: str) -> Callable:
    original, done = getattr(base, name), _DONE[name]
    writer = recorder.writer
    method = writer.name(name)
    waits, single = name.lower().startswith("wait"), name.lower().endswith("any")

    def call(cls, requests, *rest, **keywords):
        # mpi4py calls it status or statuses.
        statuses = rest[0] if rest else next(iter(keywords.values()), None)
        watched = [r for r in requests if isinstance(r, WatchedRequest) and r != MPI.REQUEST_NULL]
        if not watched:
            return original(requests, *rest, **keywords)
        alive = {i for i, r in enumerate(requests) if r != MPI.REQUEST_NULL}
        if statuses is None and any(r.wild for r in watched):
            statuses = MPI.Status() if single else []
        if waits:
            numbers = tuple(r.number for r in watched)
            writer.inside(form.IN_MESSAGES, method, numbers, not name.lower().endswith("all"))
        try:
            found = original(requests, statuses)
        finally:
            writer.outside()
        for at, index in enumerate(done(found, len(requests))):
            if index in alive and isinstance(requests[index], WatchedRequest):
                status = statuses if single else statuses[at] if statuses else None
                requests[index]._ended(status)
        return found

    return call


def watch_own_waits(recorder: Recorder) -> None:
    """Note the waits for started collectives, whose requests are ours."""
    for cls in (request.Request, request.Prequest):
        cls.Wait = _own_wait(recorder, cls.Wait)


def _own_wait(recorder: Recorder, original: Callable) -> Callable:
    writer = recorder.writer
    method = writer.name("Wait")

    def Wait(self, status=None):
        number = None if self.complete else recorder.started(self._operation)
        if number is None:
            return original(self, status)
        writer.inside(form.IN_COLLECTIVE, method, (number,))
        try:
            return original(self, status)
        finally:
            writer.outside()

    return Wait
