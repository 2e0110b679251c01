"""The instrumented communicator's messages of objects, and probes."""

from __future__ import annotations

import pickle
import time
from typing import Any

import numpy as np
from mpi4py import MPI

from mpicoll.grade.comm_base import ANY_SOURCE, SYNCHRONOUS, Base
from mpicoll.grade.request import Request
from mpicoll.grade.watch import memory_of

__all__ = ["Objects"]

_STATUS = MPI.Status
#: Bytes that mpi4py's irecv has room for by itself, and what it is given here.
_ROOM, _MORE = 32768, 1 << 20


class Objects(Base):
    """The lower-case methods, Probe and Iprobe."""

    def _parcel(self, kind: str, call: str, peer: Any, tag: int, obj: Any = None) -> dict[str, Any]:
        op = self._open(kind, call, peer, tag, None, comm_kind="objects")
        if kind == "send" and not self._watch.light:
            nbytes = getattr(obj, "nbytes", None)
            op["nbytes"] = len(pickle.dumps(obj)) if nbytes is None else int(nbytes)
            op["dtype"] = str(getattr(obj, "dtype", "object"))
            op["count"] = int(getattr(obj, "size", 1))
            if isinstance(obj, np.ndarray):
                self._watch.describe(op, memory_of(obj))
        return op

    def _send_object(self, call: str, obj: Any, dest: Any, tag: int) -> None:
        dest = self._peer(dest, "destination")
        op = self._parcel("send", call, dest, tag, obj)
        name = SYNCHRONOUS.get(call, call) if self._watch.sync else call
        with self._watch.inside(call, [op]):
            getattr(self._objects, name)(obj, dest, tag)
        self._close(op)

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object."""
        self._send_object("send", obj, dest, tag)

    def ssend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object, and wait until it is being received."""
        self._send_object("ssend", obj, dest, tag)

    bsend = send

    def isend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Start sending an object."""
        dest = self._peer(dest, "destination")
        op = self._parcel("send", "isend", dest, tag, obj)
        op["immediate"] = True
        name = "issend" if self._watch.sync else "isend"
        with self._watch.inside("isend", [op]):
            real = getattr(self._objects, name)(obj, dest, tag)
        return Request(self._watch, real, op)

    issend = ibsend = isend

    def recv(
        self,
        buf: Any = None,
        source: int = ANY_SOURCE,
        tag: int = MPI.ANY_TAG,
        status: Any = None,
    ) -> Any:
        """Receive an object."""
        source, status = self._peer(source, "source"), status if status is not None else _STATUS()
        op = self._parcel("recv", "recv", source, tag)
        with self._watch.inside("recv", [op]):
            obj = self._objects.recv(buf, source, tag, status)
        self._close(op, status)
        return obj

    def irecv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = MPI.ANY_TAG) -> Request:
        """Start receiving an object."""
        source = self._peer(source, "source")
        op = self._parcel("recv", "irecv", source, tag)
        op["immediate"] = True
        if buf is None and not self._watch.light:
            # What is longer than mpi4py's own buffer is refused at the wait: a library may crash.
            op["room"], buf = _ROOM, bytearray(_MORE)
        real = self._objects.irecv(buf, source, tag)
        return Request(self._watch, real, op, keep=buf, members=self._members)

    def sendrecv(
        self,
        sendobj: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = MPI.ANY_TAG,
        status: Any = None,
    ) -> Any:
        """Send an object and receive another."""
        dest, source = self._peer(dest, "destination"), self._peer(source, "source")
        status = status if status is not None else _STATUS()
        sent = self._parcel("send", "sendrecv", dest, sendtag, sendobj)
        received = self._parcel("recv", "sendrecv", source, recvtag)
        with self._watch.inside("sendrecv", [sent, received]):
            obj = self._objects.sendrecv(sendobj, dest, sendtag, recvbuf, source, recvtag, status)
        self._close(sent)
        self._close(received, status)
        return obj

    def _probe(self, call: str, source: Any, tag: int, status: Any, block: bool) -> bool:
        source, status = self._peer(source, "source"), status if status is not None else _STATUS()
        op = self._open("probe", call, source, tag, None) if block else None
        if op is not None:
            with self._watch.inside(call, [op]):
                while not self._there(source, tag, status):
                    time.sleep(0.0002)
            self._close(op)
            return True
        return self._there(source, tag, status)

    def _there(self, source: int, tag: int, status: Any) -> bool:
        return bool(
            self._real.Iprobe(source, tag, status) or self._objects.Iprobe(source, tag, status)
        )

    def Probe(self, source: int = ANY_SOURCE, tag: int = MPI.ANY_TAG, status: Any = None) -> bool:
        """Wait for a message without receiving it."""
        return self._probe("Probe", source, tag, status, True)

    def Iprobe(self, source: int = ANY_SOURCE, tag: int = MPI.ANY_TAG, status: Any = None) -> bool:
        """Ask whether there is a message."""
        return self._probe("Iprobe", source, tag, status, False)

    probe, iprobe = Probe, Iprobe
