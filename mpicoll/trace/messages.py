"""The program's own messages: sends and receives on communicators of ours, as they are called.

The methods are wrapped while a trace is recorded. What a receive has got is known from its status;
a receive that is only started says so when somebody waits for it by one of its own methods.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from inspect import signature

from mpi4py import MPI

from mpicoll.execution import native, request
from mpicoll.execution.message import read_message
from mpicoll.family import Family, native_base
from mpicoll.trace.store import USER_RECV, USER_SEND, USER_WAIT

__all__ = ["install"]

SENDS = ("Send", "Ssend", "Bsend", "Rsend", "send", "ssend", "bsend")
STARTED_SENDS = ("Isend", "Issend", "Ibsend", "Irsend", "isend", "issend", "ibsend")
RECEIVES = ("Recv", "recv")
STARTED_RECEIVES = ("Irecv", "irecv")
BOTH = ("Sendrecv", "sendrecv", "Sendrecv_replace")


class _Watched(native.Request):
    """A started message of the program's that says when it was waited for, and what arrived."""

    # What mpi4py's own classes do: a new object with the handle and the memory of the other.
    _note: Callable | None = None

    def _ended(self, begin: int, status: MPI.Status) -> None:
        if self._note is not None:
            note, self._note = self._note, None
            note(begin, status)

    def Wait(self, status: MPI.Status | None = None) -> bool:
        """As MPI's."""
        status = status or MPI.Status()
        begin = self._clock()
        result = super().Wait(status)
        self._ended(begin, status)
        return result

    def wait(self, status: MPI.Status | None = None) -> object:
        """As mpi4py's."""
        status = status or MPI.Status()
        begin = self._clock()
        result = super().wait(status)
        self._ended(begin, status)
        return result

    def Test(self, status: MPI.Status | None = None) -> bool:
        """As MPI's."""
        status = status or MPI.Status()
        begin = self._clock()
        done = super().Test(status)
        if done:
            self._ended(begin, status)
        return done

    def test(self, status: MPI.Status | None = None) -> tuple[bool, object]:
        """As mpi4py's."""
        status = status or MPI.Status()
        begin = self._clock()
        result = super().test(status)
        if result[0]:
            self._ended(begin, status)
        return result


def install(recorder: object) -> ExitStack:
    """Record the program's messages until what is returned is closed."""
    undo = ExitStack()
    for names, around in (
        (SENDS, _send),
        (STARTED_SENDS, _started_send),
        (RECEIVES, _receive),
        (STARTED_RECEIVES, _started_receive),
        (BOTH, _both),
    ):
        for name in names:
            # Others may watch messages too: what they have put here goes on.
            wrapped = around(recorder, name, vars(Family).get(name) or _plain(name))
            _replace(undo, Family, name, wrapped)
    for cls in (request.Request, request.Prequest):
        for name in ("Waitall", "waitall"):
            _replace(undo, cls, name, classmethod(_wait_all(recorder, getattr(cls, name))))
    return undo


def _replace(undo: ExitStack, cls: type, name: str, value: object) -> None:
    if name in vars(cls):
        undo.callback(setattr, cls, name, vars(cls)[name])
    else:
        undo.callback(delattr, cls, name)
    setattr(cls, name, value)


def _wait_all(recorder: object, plain: Callable) -> Callable:
    def wait_all(cls: type, requests: list, statuses: list | None = None) -> object:
        if not any(isinstance(each, _Watched) for each in requests):
            return plain(requests, statuses)
        filled = [] if statuses is None else statuses
        begin = recorder.clock()
        result = plain(requests, filled)
        for each, status in zip(requests, filled, strict=False):
            if isinstance(each, _Watched):
                each._ended(begin, status)
        return result

    return wait_all


def _plain(name: str) -> Callable:
    """The method of the MPI class that a communicator builds on."""

    def call(comm: Family, *arguments: object, **keywords: object) -> object:
        return getattr(native_base(type(comm)), name)(comm, *arguments, **keywords)

    return call


def _arguments(name: str, arguments: tuple, keywords: dict) -> dict:
    """The arguments by name, defaults included."""
    bound = signature(getattr(native.Comm, name)).bind(None, *arguments, **keywords)
    bound.apply_defaults()
    return bound.arguments


def _nbytes(name: str, buffer: object) -> int:
    """Bytes of a buffer argument; objects are weighed where they arrive."""
    if name[0].islower():
        return -1
    message = read_message(buffer, writable=False)
    return message.count * message.kind.size


def _send(recorder: object, name: str, plain: Callable) -> Callable:
    def send(self: Family, *arguments: object, **keywords: object) -> object:
        begin = recorder.clock()
        result = plain(self, *arguments, **keywords)
        end = recorder.clock()
        _sent(recorder, self, name, _arguments(name, arguments, keywords), begin, end)
        return result

    send.__name__ = name
    return send


def _sent(recorder: object, comm: Family, name: str, given: dict, begin: int, end: int) -> None:
    peer, tag = given["dest"], given.get("tag", given.get("sendtag", 0))
    if peer == MPI.PROC_NULL:
        return
    buffer = given.get("buf", given.get("sendbuf"))
    number = recorder.number_of(comm.state)
    nbytes = _nbytes(name, buffer)
    recorder.store.add(USER_SEND, begin, end, 0, number, -1, peer, tag, nbytes)


def _started_send(recorder: object, name: str, plain: Callable) -> Callable:
    def send(self: Family, *arguments: object, **keywords: object) -> object:
        begin = recorder.clock()
        made = plain(self, *arguments, **keywords)
        given = _arguments(name, arguments, keywords)
        _sent(recorder, self, name, given, begin, recorder.clock())
        number = recorder.number_of(self.state)

        def note(waited: int, status: MPI.Status) -> None:
            recorder.store.add(USER_WAIT, waited, recorder.clock(), 0, number)

        return _watched(made, note, recorder.clock)

    send.__name__ = name
    return send


def _watched(made: native.Request, note: Callable, clock: Callable[[], int]) -> _Watched:
    watched = _Watched(made)
    watched._note, watched._clock = note, clock
    return watched


def _receive(recorder: object, name: str, plain: Callable) -> Callable:
    def receive(self: Family, *arguments: object, **keywords: object) -> object:
        given = _arguments(name, arguments, keywords)
        given.pop("self", None)
        given["status"] = given["status"] or MPI.Status()
        begin = recorder.clock()
        result = plain(self, **given)
        _received(recorder, self, given["status"], begin)
        return result

    receive.__name__ = name
    return receive


def _received(
    recorder: object, comm: Family, status: MPI.Status, begin: int, waited: int | None = None
) -> None:
    peer = status.Get_source()
    if peer == MPI.PROC_NULL:
        return
    end, number = recorder.clock(), recorder.number_of(comm.state)
    nbytes = status.Get_count(MPI.BYTE)
    recorder.store.add(USER_RECV, begin, end, 0, number, -1, peer, status.Get_tag(), nbytes)
    if waited is not None:
        recorder.store.add(USER_WAIT, waited, end, 0, number)


def _started_receive(recorder: object, name: str, plain: Callable) -> Callable:
    def receive(self: Family, *arguments: object, **keywords: object) -> object:
        begin = recorder.clock()
        made = plain(self, *arguments, **keywords)

        def note(waited: int, status: MPI.Status) -> None:
            _received(recorder, self, status, begin, waited)

        return _watched(made, note, recorder.clock)

    receive.__name__ = name
    return receive


def _both(recorder: object, name: str, plain: Callable) -> Callable:
    def both(self: Family, *arguments: object, **keywords: object) -> object:
        given = _arguments(name, arguments, keywords)
        given.pop("self", None)
        given["status"] = given["status"] or MPI.Status()
        begin = recorder.clock()
        result = plain(self, **given)
        _sent(recorder, self, name, given, begin, recorder.clock())
        _received(recorder, self, given["status"], begin)
        return result

    both.__name__ = name
    return both
