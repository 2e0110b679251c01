"""The instrumented communicator's messages of buffers."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from mpi4py import MPI

from mpicoll.grade.comm_base import ANY_SOURCE, SYNCHRONOUS, Base
from mpicoll.grade.request import Request
from mpicoll.grade.watch import Memory, memory_of

__all__ = ["Buffers"]

_REQUEST, _STATUS, _BYTE = MPI.Request, MPI.Status, MPI.BYTE


def _references_of_a_temporary() -> int:
    class Counter:
        def Recv(self, buf: Any, source: int = 0) -> int:
            return sys.getrefcount(buf)

    return Counter().Recv(np.empty(1), source=1)


_TEMPORARY = _references_of_a_temporary()
_BASE = 3  # the view, the variable here, the argument of getrefcount


class Buffers(Base):
    """Send, Recv and their relatives.

    Where memory is dense it travels as bytes: a library may abort on types that do not fit, and
    what they are is noted beside the message.
    """

    def _bytes(self, buf: Any, memory: Memory) -> Any:
        if self._watch.light or memory.flat is None:
            return buf
        return [memory.flat, memory.flat.nbytes, _BYTE]

    def _send(self, call: str, buf: Any, dest: Any, tag: int) -> None:
        dest = self._peer(dest, "destination")
        memory = memory_of(buf)
        op = self._open("send", call, dest, tag, memory)
        name = SYNCHRONOUS.get(call, call) if self._watch.sync else call
        with self._watch.inside(call, [op]):
            getattr(self._real, name)(self._bytes(buf, memory), dest, tag)
        self._close(op)

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer."""
        self._send("Send", buf, dest, tag)

    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer, and wait until it is being received."""
        self._send("Ssend", buf, dest, tag)

    def Bsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer from the attached one."""
        self._send("Bsend", buf, dest, tag)

    def Rsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer for which a receive has been posted."""
        self._send("Rsend", buf, dest, tag)

    def _isend(self, call: str, buf: Any, dest: Any, tag: int) -> Request:
        dest = self._peer(dest, "destination")
        memory = memory_of(buf)
        op = self._open("send", call, dest, tag, memory, immediate=True)
        name = SYNCHRONOUS.get(call, call) if self._watch.sync else call
        checksum = None if self._watch.light or memory.flat is None else memory.checksum()
        with self._watch.inside(call, [op]):
            real = getattr(self._real, name)(self._bytes(buf, memory), dest, tag)
        return Request(self._watch, real, op, memory, checksum=checksum, keep=buf)

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Start sending a buffer."""
        return self._isend("Isend", buf, dest, tag)

    def Issend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Start sending a buffer; complete once it is being received."""
        return self._isend("Issend", buf, dest, tag)

    Ibsend = Irsend = Isend

    def Send_init(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Prepare sending a buffer repeatedly."""
        return Request(self._watch, None, {}, again=lambda: self.Isend(buf, dest, tag))

    # --- receiving

    def _named_memory(self, buf: Any, references: int) -> None:
        """Say so if nobody can ever look at what is received."""
        if not isinstance(buf, np.ndarray) or references > _TEMPORARY:
            return
        # Indexing with a list may give a view of a copy: who else knows the copy?
        base = buf.base
        if base is None or (isinstance(base, np.ndarray) and sys.getrefcount(base) <= _BASE):
            self._watch.remark(
                "received-into-copy",
                "this receives into a temporary copy (indexing with a list or an array makes one), "
                "so the data are lost: use a slice",
            )

    def Recv(
        self, buf: Any, source: int = ANY_SOURCE, tag: int = MPI.ANY_TAG, status: Any = None
    ) -> None:
        """Receive into a buffer."""
        references = sys.getrefcount(buf)  # before anything else here refers to it
        self._named_memory(buf, references)
        source = self._peer(source, "source")
        memory, status = memory_of(buf), status if status is not None else _STATUS()
        op = self._open("recv", "Recv", source, tag, memory)
        with self._watch.inside("Recv", [op]):
            self._real.Recv(self._bytes(buf, memory), source, tag, status)
        self._close(op, status, memory)

    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = MPI.ANY_TAG) -> Request:
        """Start receiving into a buffer."""
        source, memory = self._peer(source, "source"), memory_of(buf)
        op = self._open("recv", "Irecv", source, tag, memory, immediate=True)
        shadow = self._watch.shadow(memory)
        with self._watch.inside("Irecv", [op]):
            into = self._bytes(buf, memory)
            if shadow is not None:
                into = [shadow[2], shadow[2].nbytes, _BYTE]
            real = self._real.Irecv(into, source, tag)
        return Request(self._watch, real, op, memory, shadow, keep=buf, members=self._members)

    def Recv_init(self, buf: Any, source: int = ANY_SOURCE, tag: int = MPI.ANY_TAG) -> Request:
        """Prepare receiving into a buffer repeatedly."""
        return Request(self._watch, None, {}, again=lambda: self.Irecv(buf, source, tag))

    def Sendrecv(
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = MPI.ANY_TAG,
        status: Any = None,
    ) -> None:
        """Send a buffer and receive into another."""
        dest, source = self._peer(dest, "destination"), self._peer(source, "source")
        outgoing, incoming = memory_of(sendbuf), memory_of(recvbuf)
        status = status if status is not None else _STATUS()
        a, b = outgoing.address, incoming.address
        if a and b and a < b + incoming.nbytes and b < a + outgoing.nbytes:
            self._watch.remark(
                "overlap", "Sendrecv sends from and receives into the same memory: MPI forbids it"
            )
        sent = self._open("send", "Sendrecv", dest, sendtag, outgoing)
        received = self._open("recv", "Sendrecv", source, recvtag, incoming)
        sendbuf, recvbuf = self._bytes(sendbuf, outgoing), self._bytes(recvbuf, incoming)
        with self._watch.inside("Sendrecv", [sent, received]):
            if self._watch.sync:
                requests = [self._real.Issend(sendbuf, dest, sendtag)]
                requests.append(self._real.Irecv(recvbuf, source, recvtag))
                both = [_STATUS(), status]
                _REQUEST.Waitall(requests, both)
            else:
                self._real.Sendrecv(sendbuf, dest, sendtag, recvbuf, source, recvtag, status)
        self._close(sent)
        self._close(received, status, incoming)

    def Sendrecv_replace(
        self,
        buf: Any,
        dest: int,
        sendtag: int = 0,
        source: int = ANY_SOURCE,
        recvtag: int = MPI.ANY_TAG,
        status: Any = None,
    ) -> None:
        """Send a buffer and receive into the same."""
        memory = memory_of(buf)
        dest, source = self._peer(dest, "destination"), self._peer(source, "source")
        status = status if status is not None else _STATUS()
        sent = self._open("send", "Sendrecv_replace", dest, sendtag, memory)
        received = self._open("recv", "Sendrecv_replace", source, recvtag, memory)
        with self._watch.inside("Sendrecv_replace", [sent, received]):
            buf = self._bytes(buf, memory)
            self._real.Sendrecv_replace(buf, dest, sendtag, source, recvtag, status)
        self._close(sent)
        self._close(received, status, memory)
