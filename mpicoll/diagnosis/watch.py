"""Watching the messages of a program, so that a hang can be explained.

`install_watch` gives communicators methods that note, in the record of this rank, what begins and
what ends: peer, tag, bytes, communicator, line. The methods do what mpi4py's do; messages to
MPI.PROC_NULL and persistent ones are not noted.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

from mpicoll.diagnosis import record as form
from mpicoll.diagnosis.flight import Recorder
from mpicoll.diagnosis.watched_requests import watched_request
from mpicoll.execution import native

__all__ = ["Ways", "messaging_methods"]

BLOCKING_SENDS = ("Send", "Ssend", "Bsend", "Rsend", "send", "ssend", "bsend")
STARTED_SENDS = ("Isend", "Issend", "Ibsend", "Irsend", "isend", "issend", "ibsend")


class Ways:
    """Who is who on one communicator, and how many messages have gone each way."""

    def __init__(self, recorder: Recorder, name: str, ranks: tuple[int, ...]) -> None:
        self.writer = recorder.writer
        self.recorder = recorder
        self.number = self.writer.communicator(name, ranks)
        #: The world ranks of those that messages go to and come from.
        self.ranks = ranks
        self._sent: dict[tuple[int, int], int] = defaultdict(int)
        self._received: dict[tuple[int, int], int] = defaultdict(int)

    def send(self, method: int, peer: int, tag: int, nbytes: int, frame: object) -> int:
        """Note a send; its number."""
        self._sent[peer, tag] = ordinal = self._sent[peer, tag] + 1
        return self._note(form.SEND, method, peer, tag, nbytes, ordinal, frame)

    def receive(self, method: int, peer: int, tag: int, nbytes: int, frame: object) -> int:
        """Note a receive; its number. Those of anything count when they are done."""
        ordinal = 0
        if peer >= 0 and tag >= 0:
            self._received[peer, tag] = ordinal = self._received[peer, tag] + 1
        return self._note(form.RECV, method, peer, tag, nbytes, ordinal, frame)

    def probe(self, method: int, peer: int, tag: int, frame: object) -> int:
        """Note a probe; its number."""
        return self._note(form.PROBE, method, peer, tag, -1, 0, frame)

    def _note(
        self, kind: int, method: int, peer: int, tag: int, nbytes: int, ordinal: int, frame
    ) -> int:
        file = self.writer.name(frame.f_code.co_filename)
        other = self.ranks[peer] if 0 <= peer < len(self.ranks) else peer if peer >= 0 else -1
        tag = max(tag, -1)
        return self.writer.message(
            kind, method, other, tag, nbytes, self.number, ordinal, file, frame.f_lineno
        )

    def received(self, number: int, wild: bool, status: MPI.Status) -> None:
        """A receive is done; if it was of anything, `status` says of what."""
        if wild:
            peer, tag = status.Get_source(), status.Get_tag()
            if 0 <= peer < len(self.ranks):
                self._received[peer, tag] = ordinal = self._received[peer, tag] + 1
                self.writer.matched(number, self.ranks[peer], tag, ordinal)
        self.writer.message_done(number)


def _nbytes(buffer: object) -> int:
    """The bytes of a buffer specification, -1 if that is not seen at a glance."""
    if isinstance(buffer, (list, tuple)) and buffer:
        if len(buffer) == 3 and isinstance(buffer[1], int) and isinstance(buffer[2], MPI.Datatype):
            return buffer[1] * buffer[2].Get_size()
        buffer = buffer[0]
    if isinstance(buffer, np.ndarray):
        return buffer.nbytes
    return len(buffer) if isinstance(buffer, (bytes, bytearray)) else -1


def messaging_methods(
    recorder: Recorder, ways_of: Callable[[native.Comm], Ways]
) -> dict[str, Callable]:
    """The noting forms of a communicator's methods, by name."""
    made: dict[str, Callable] = {}
    for name in BLOCKING_SENDS:
        made[name] = _send(recorder, ways_of, name)
    for name in STARTED_SENDS:
        made[name] = _start_send(recorder, ways_of, name)
    for name in ("Recv", "recv"):
        made[name] = _recv(recorder, ways_of, name)
    for name in ("Irecv", "irecv"):
        made[name] = _start_recv(recorder, ways_of, name)
    for name in ("Probe", "probe", "Mprobe", "mprobe"):
        made[name] = _probe(recorder, ways_of, name)
    made["Sendrecv"] = _sendrecv(recorder, ways_of, "Sendrecv")
    made["sendrecv"] = _sendrecv(recorder, ways_of, "sendrecv")
    made["Sendrecv_replace"] = _replace(recorder, ways_of)
    for name, method in made.items():
        original = getattr(native.Comm, name)
        method.__name__, method.__doc__ = name, original.__doc__
    return made


def _send(recorder: Recorder, ways_of: Callable, name: str) -> Callable:
    original, writer = getattr(native.Comm, name), recorder.writer
    method = writer.name(name)

    def send(self, data, dest, tag, frame):
        if dest < 0:
            return original(self, data, dest, tag)
        number = ways_of(self).send(method, dest, tag, _nbytes(data), frame)
        writer.inside(form.IN_MESSAGES, method, (number,))
        try:
            return original(self, data, dest, tag)
        finally:
            writer.outside()
            writer.message_done(number)

    return _named(name, send)


def _start_send(recorder: Recorder, ways_of: Callable, name: str) -> Callable:
    original = getattr(native.Comm, name)
    method = recorder.writer.name(name)

    def send(self, data, dest, tag, frame):
        request = original(self, data, dest, tag)
        if dest < 0:
            return request
        ways = ways_of(self)
        number = ways.send(method, dest, tag, _nbytes(data), frame)
        return watched_request(request, ways, number, False)

    return _named(name, send)


def _named(name: str, send: Callable) -> Callable:
    """A sending method with mpi4py's names of parameters."""
    if name.islower():
        return lambda self, obj, dest, tag=0: send(self, obj, dest, tag, sys._getframe(1))
    return lambda self, buf, dest, tag=0: send(self, buf, dest, tag, sys._getframe(1))


def _recv(recorder: Recorder, ways_of: Callable, name: str) -> Callable:
    original, writer = getattr(native.Comm, name), recorder.writer
    method = writer.name(name)

    def call(self, buf=None, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=None):
        if source == MPI.PROC_NULL:
            return original(self, buf, source, tag, status)
        wild = source == MPI.ANY_SOURCE or tag == MPI.ANY_TAG
        status = MPI.Status() if wild and status is None else status
        ways = ways_of(self)
        number = ways.receive(method, source, tag, _nbytes(buf), sys._getframe(1))
        writer.inside(form.IN_MESSAGES, method, (number,))
        try:
            return original(self, buf, source, tag, status)
        finally:
            writer.outside()
            ways.received(number, wild, status)

    return call


def _start_recv(recorder: Recorder, ways_of: Callable, name: str) -> Callable:
    original = getattr(native.Comm, name)
    method = recorder.writer.name(name)

    def call(self, buf=None, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG):
        request = original(self, buf, source, tag)
        if source == MPI.PROC_NULL:
            return request
        ways = ways_of(self)
        wild = source == MPI.ANY_SOURCE or tag == MPI.ANY_TAG
        number = ways.receive(method, source, tag, _nbytes(buf), sys._getframe(1))
        return watched_request(request, ways, number, wild)

    return call


def _probe(recorder: Recorder, ways_of: Callable, name: str) -> Callable:
    original, writer = getattr(native.Comm, name), recorder.writer
    method = writer.name(name)

    def call(self, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=None):
        if source == MPI.PROC_NULL:
            return original(self, source, tag, status)
        matched = name in ("Mprobe", "mprobe")
        status = MPI.Status() if matched and status is None else status
        ways = ways_of(self)
        if matched:  # the message is this rank's from now on
            number = ways.receive(method, source, tag, -1, sys._getframe(1))
        else:
            number = ways.probe(method, source, tag, sys._getframe(1))
        writer.inside(form.IN_MESSAGES, method, (number,))
        try:
            return original(self, source, tag, status)
        finally:
            writer.outside()
            ways.received(number, matched and (source < 0 or tag < 0), status)

    return call


def _both(
    recorder: Recorder, ways: Ways, method: int, out: tuple, into: tuple, call: Callable, frame
) -> object:
    """A send and a receive in one call: `out` is (peer, tag, bytes), `into` has a status too."""
    writer = recorder.writer
    numbers = []
    dest, tag, nbytes = out
    if dest >= 0:
        numbers.append(ways.send(method, dest, tag, nbytes, frame))
    source, tag, nbytes, status = into
    receiving = None
    if source != MPI.PROC_NULL:
        receiving = ways.receive(method, source, tag, nbytes, frame)
        numbers.append(receiving)
    writer.inside(form.IN_MESSAGES, method, tuple(numbers))
    try:
        return call()
    finally:
        writer.outside()
        for number in numbers:
            if number != receiving:
                writer.message_done(number)
        if receiving is not None:
            ways.received(receiving, source < 0 or tag < 0, status)


def _sendrecv(recorder: Recorder, ways_of: Callable, name: str) -> Callable:
    original = getattr(native.Comm, name)
    method = recorder.writer.name(name)

    def exchange(self, data, dest, sendtag, recvbuf, source, recvtag, status, frame):
        status = MPI.Status() if status is None and (source < 0 or recvtag < 0) else status
        return _both(
            recorder,
            ways_of(self),
            method,
            (dest, sendtag, _nbytes(data)),
            (source, recvtag, _nbytes(recvbuf), status),
            lambda: original(self, data, dest, sendtag, recvbuf, source, recvtag, status),
            frame,
        )

    any_source, any_tag = MPI.ANY_SOURCE, MPI.ANY_TAG
    if name == "sendrecv":

        def sendrecv(
            self,
            sendobj,
            dest,
            sendtag=0,
            recvbuf=None,
            source=any_source,
            recvtag=any_tag,
            status=None,
        ):
            more = (recvbuf, source, recvtag, status, sys._getframe(1))
            return exchange(self, sendobj, dest, sendtag, *more)

        return sendrecv

    def call(
        self,
        sendbuf,
        dest,
        sendtag=0,
        recvbuf=None,
        source=any_source,
        recvtag=any_tag,
        status=None,
    ):
        more = (recvbuf, source, recvtag, status, sys._getframe(1))
        return exchange(self, sendbuf, dest, sendtag, *more)

    return call


def _replace(recorder: Recorder, ways_of: Callable) -> Callable:
    original = native.Comm.Sendrecv_replace
    method = recorder.writer.name("Sendrecv_replace")

    def call(
        self,
        buf,
        dest,
        sendtag=0,
        source=MPI.ANY_SOURCE,
        recvtag=MPI.ANY_TAG,
        status=None,
    ):
        status = MPI.Status() if status is None and (source < 0 or recvtag < 0) else status
        nbytes = _nbytes(buf)
        return _both(
            recorder,
            ways_of(self),
            method,
            (dest, sendtag, nbytes),
            (source, recvtag, nbytes, status),
            lambda: original(self, buf, dest, sendtag, source, recvtag, status),
            sys._getframe(1),
        )

    return call
