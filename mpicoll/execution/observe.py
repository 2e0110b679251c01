"""The seam for whoever watches collectives: accounts, traces, checks, flight recorders.

An observer has two methods::

    before(event)         nothing has been sent; what it raises, the call raises
    after(event, error)   the collective is complete; error is None, or what it raised

For a started collective `after` comes from whichever thread completes it. Methods of the execution
are wrapped while there are observers, so that it costs nothing where there is none; calls on plain
arrays are then read each time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol
from weakref import WeakKeyDictionary

from mpicoll.execution.calls import Call
from mpicoll.execution.event import Event, Where, caller
from mpicoll.execution.objects import Job
from mpicoll.execution.operation import Operation
from mpicoll.execution.request import DetachedPrequest, Prequest
from mpicoll.execution.state import State, forget_shortcuts

__all__ = ["Event", "Observer", "Where", "caller", "current", "observe", "unobserve"]


class Observer(Protocol):
    """Whoever watches."""

    def before(self, event: Event) -> None:
        """Nothing has been sent; an exception is raised by the call."""

    def after(self, event: Event, error: BaseException | None) -> None:
        """The call has ended, or failed with `error`."""


_observers: tuple[Observer, ...] = ()
_originals: dict[tuple[type, str], Callable] = {}
_here = threading.local()
_prepared: WeakKeyDictionary[Operation, tuple[Event, int]] = WeakKeyDictionary()


def observe(observer: Observer) -> None:
    """Let `observer` see every collective of this process from now on, after earlier observers."""
    global _observers
    if not _observers:
        _open()
    _observers = (*_observers, observer)


def unobserve(observer: Observer) -> None:
    """End that; ValueError for one that does not observe."""
    global _observers
    at = _observers.index(observer)
    _observers = _observers[:at] + _observers[at + 1 :]
    if not _observers:
        for (cls, name), method in _originals.items():
            setattr(cls, name, method)
        _originals.clear()


def current() -> Event | None:
    """The collective that this thread is in, None outside one."""
    return getattr(_here, "event", None)


def _open() -> None:
    """Wrap what every collective passes through."""
    forget_shortcuts()
    around = {
        (State, "remember"): lambda remember: lambda state, shortcut, key: None,
        (State, "take"): _take,
        (State, "perform"): _perform,
        (State, "operation"): _operation,
        (State, "prepare"): _prepare,
        (Prequest, "Start"): _restart,
        (DetachedPrequest, "Start"): _restart,
        (Job, "perform"): _objects,
    }
    for (cls, name), wrapped in around.items():
        method = _originals[cls, name] = getattr(cls, name)
        setattr(cls, name, wrapped(method))


def _watched(event: Event, perform: Callable, *arguments: object) -> object:
    """The call between `before` and, if it fails, `after`; whoever succeeds says so himself."""
    watching, outer = [], current()
    _here.event = event
    try:
        for observer in _observers:
            observer.before(event)
            watching.append(observer)
        return perform(*arguments)
    except BaseException as error:
        _ended(event, watching, error)
        raise
    finally:
        _here.event = outer


def _ended(event: Event, watching: list[Observer], error: BaseException | None = None) -> None:
    for observer in watching:
        observer.after(event, error)


def _event(state: State, form: str, call: Call, tag: int, name: str | None, more: dict) -> Event:
    algorithm, parameters = state.settle(call, name, more)
    return Event(state, form, tag, algorithm.name if algorithm else "linear", parameters, call)


def _take(take: Callable) -> Callable:
    def wrapped(state: State, call: Call, *rest: object) -> tuple:
        key, bound = take(state, call, *rest)
        event = current()
        if event is not None and event.call is call:
            event.binds(bound, lasts=key is not None)
        return key, bound

    return wrapped


def _perform(perform: Callable) -> Callable:
    def wrapped(state: State, call: Call, tag: int, name: str | None, more: dict) -> tuple | None:
        event, watching = _event(state, "blocking", call, tag, name, more), list(_observers)
        key = _watched(event, perform, state, call, tag, name, more)
        _ended(event, watching)
        return key

    return wrapped


def _operation(make: Callable) -> Callable:
    def wrapped(state: State, call: Call, tag: int, name: str | None, more: dict) -> Operation:
        event, watching = _event(state, "non-blocking", call, tag, name, more), list(_observers)
        operation = _watched(event, make, state, call, tag, name, more)
        operation.gate = event.gate
        operation.at_end.append(lambda error: _ended(event, watching, error))
        return operation

    return wrapped


def _prepare(prepare: Callable) -> Callable:
    def wrapped(state: State, call: Call, tag: int, name: str | None, more: dict) -> object:
        event, watching = _event(state, "prepared", call, tag, name, more), list(_observers)
        request = _watched(event, prepare, state, call, tag, name, more)
        _prepared[request._prepared] = event, 0
        _ended(event, watching)
        return request

    return wrapped


def _restart(start: Callable) -> Callable:
    def wrapped(request: Prequest) -> None:
        # A message of MPI's, or made before anybody watched.
        if request.foreign or request._prepared not in _prepared:
            start(request)
            return
        event, starts = _prepared[request._prepared]
        event = event.started(starts + 1)
        watching = list(_observers)
        _watched(event, start, request)
        _prepared[request._prepared] = event, starts + 1
        _at_end(request._operation, event, watching)

    return wrapped


def _objects(perform: Callable) -> Callable:
    def wrapped(job: Job, supply: Callable, tags: tuple[int, int, int]) -> list:
        event = Event(job.state, "objects", tags[0], job.script.algorithm, job.parameters, job=job)
        watching = list(_observers)
        results = _watched(event, perform, job, supply, tags)
        _ended(event, watching)
        return results

    return wrapped


def _at_end(operation: Operation, event: Event, watching: list[Observer]) -> None:
    """Call `after` when the operation is complete, which it may be already."""
    with operation.lock:
        if not operation.complete:
            operation.at_end.append(lambda error: _ended(event, watching, error))
            return
    _ended(event, watching, operation.error)
