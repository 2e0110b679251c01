"""Requests of the instrumented communicator; in student code they are ``MPI.Request``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from mpi4py import MPI

from mpicoll.grade.watch import Memory, Watch

__all__ = ["Request"]

_REAL, _STATUS = MPI.Request, MPI.Status


class Request:
    """A started operation: mpi4py's request, and what must be noted when it ends."""

    def __init__(
        self,
        watch: Watch,
        real: Any,
        op: dict[str, Any],
        memory: Memory | None = None,
        shadow: Any = None,
        checksum: int | None = None,
        keep: Any = None,
        again: Callable[[], Request] | None = None,
        members: list[int] | None = None,
    ) -> None:
        self._watch, self._real, self._op = watch, real, op
        self._memory, self._shadow, self._checksum = memory, shadow, checksum
        self._object, self._ended, self._again = None, False, again
        self._members = members
        # A request that is dropped must not crash the rank: it is found by counting.
        watch.kept.append((real, shadow, keep))

    def _finish(self, status: Any, value: Any = None) -> None:
        if self._ended or self._real is None:
            return
        self._ended, self._object = True, value
        watch, op = self._watch, self._op
        late = f"before the {op['call']} of line {op['line']} was waited for"
        if self._checksum is not None and self._checksum != self._memory.checksum():
            watch.remark("changed-before-wait", f"the memory that is sent was changed {late}")
        room = op.get("room")
        if room and status.Get_count(MPI.BYTE) > room:
            watch.refuse(
                "object-too-large",
                f"irecv (line {op['line']}) has room for 32 KiB unless it is given a buffer: "
                "comm.irecv(bytearray(n), ...), or use Irecv with an array",
            )
        if self._shadow is not None:
            saved, poison, arrived = self._shadow
            if self._memory.checksum() != poison:
                watch.remark("written-before-wait", f"memory to receive into was written {late}")
            got = min(status.Get_count(MPI.BYTE), saved.nbytes)
            self._memory.flat[:got] = arrived[:got]
            self._memory.flat[got:] = saved[got:]
        watch.done(op, status, self._memory)
        if self._members and "source" in op:
            known = 0 <= op["source"] < len(self._members)
            op["source"] = self._members[op["source"]] if known else None

    def _note_style(self) -> None:
        op = self._op
        if op["post"] == self._watch.clock and op["kind"] == "send":
            op["at_once"] = True  # nothing was begun between the start and the wait

    def Wait(self, status: Any = None) -> bool:
        """Wait for this one."""
        return bool(self._wait("Wait", status) or True)

    def wait(self, status: Any = None) -> Any:
        """Wait for this one, and return the object it brings."""
        return self._wait("wait", status)

    def _wait(self, call: str, status: Any) -> Any:
        if self._ended or self._real is None:
            return self._object
        self._note_style()
        status = status if status is not None else _STATUS()
        with self._watch.inside(call, [self._op]):
            value = self._real.wait(status) if self._lower else self._real.Wait(status)
        self._finish(status, value if self._lower else None)
        return self._object

    @property
    def _lower(self) -> bool:
        return self._op["call"].islower()

    def Test(self, status: Any = None) -> bool:
        """Ask whether it is complete."""
        return self.test(status)[0]

    def test(self, status: Any = None) -> tuple[bool, Any]:
        """Ask whether it is complete, and for the object it brings."""
        if self._ended or self._real is None:
            return True, self._object
        status = status if status is not None else _STATUS()
        if self._lower:
            flag, value = self._real.test(status)
        else:
            flag, value = self._real.Test(status), None
        if flag:
            self._finish(status, value)
        return bool(flag), value

    def Cancel(self) -> None:
        """Ask MPI to give it up."""
        self._real.Cancel()

    def Free(self) -> None:
        """Drop it without waiting."""
        self._watch.remark("request-freed", "the request was freed without a wait")
        self._real.Free()
        self._real = None

    def Start(self) -> None:
        """Begin a persistent operation again."""
        if self._again is None:
            raise MPI.Exception(MPI.ERR_REQUEST)
        new = self._again()
        self.__dict__.update(new.__dict__ | {"_again": self._again})

    def __bool__(self) -> bool:
        return not self._ended and self._real is not None

    @classmethod
    def Waitall(cls, requests: Any, statuses: Any = None) -> bool:
        """Wait for all."""
        cls._all("Waitall", requests, statuses)
        return True

    @classmethod
    def waitall(cls, requests: Any, statuses: Any = None) -> list[Any]:
        """Wait for all, and return the objects they bring."""
        return cls._all("waitall", requests, statuses)

    @classmethod
    def _all(cls, call: str, requests: Any, statuses: Any) -> list[Any]:
        requests = list(requests)
        open_ones = [r for r in requests if isinstance(r, cls) and r]
        if open_ones:
            watch, found = open_ones[0]._watch, [_STATUS() for _ in open_ones]
            ops = [r._op for r in open_ones]
            with watch.inside(call, ops):
                real = [r._real for r in open_ones]
                if any(r._lower for r in open_ones):
                    values = _REAL.waitall(real, found)
                else:
                    values = _REAL.Waitall(real, found) and [None] * len(real)
            for request, status, value in zip(open_ones, found, values, strict=True):
                request._finish(status, value)
            if statuses is not None:
                statuses[:] = found
        return [r._object if isinstance(r, cls) else None for r in requests]

    @classmethod
    def Waitany(cls, requests: Any, status: Any = None) -> int:
        """Wait for one."""
        return cls.waitany(requests, status)[0]

    @classmethod
    def waitany(cls, requests: Any, status: Any = None) -> tuple[int, Any]:
        """Wait for one, and return the object it brings."""
        open_ones = [(i, r) for i, r in enumerate(requests) if isinstance(r, cls) and r]
        if not open_ones:
            return MPI.UNDEFINED, None
        watch = open_ones[0][1]._watch
        with watch.inside("Waitany", [r._op for _, r in open_ones], any_suffices=True):
            while True:
                for i, request in open_ones:
                    if request.test(status)[0]:
                        return i, request._object
                time.sleep(0.0002)

    @classmethod
    def Waitsome(cls, requests: Any, statuses: Any = None) -> list[int] | None:
        """Wait for at least one."""
        requests = list(requests)
        first = cls.Waitany(requests)
        if first == MPI.UNDEFINED:
            return None
        return sorted([first, *(i for i, r in enumerate(requests) if r and r.Test())])

    @classmethod
    def Testall(cls, requests: Any, statuses: Any = None) -> bool:
        """Ask whether all are complete."""
        return all([r.Test() for r in requests if isinstance(r, cls)])

    @classmethod
    def testall(cls, requests: Any, statuses: Any = None) -> tuple[bool, Any]:
        """Ask whether all are complete, and for their objects."""
        flag = cls.Testall(requests)
        return flag, [r._object for r in requests] if flag else None

    @classmethod
    def Testany(cls, requests: Any, status: Any = None) -> tuple[int, bool]:
        """Ask whether one is complete."""
        for i, request in enumerate(requests):
            if isinstance(request, cls) and request and request.Test(status):
                return i, True
        return MPI.UNDEFINED, not any(requests)

    @classmethod
    def Startall(cls, requests: Any) -> None:
        """Begin persistent operations again."""
        for request in requests:
            request.Start()
