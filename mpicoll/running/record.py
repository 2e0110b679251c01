"""Keeping account of collectives: which ran, by which algorithms, how often, how much, how long.

Methods are wrapped when the account is opened, so that it costs nothing where there is none.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple
from weakref import WeakKeyDictionary

from mpicoll.execution import native
from mpicoll.execution.bind import Bound
from mpicoll.execution.calls import Call
from mpicoll.execution.objects import Job
from mpicoll.execution.operation import Operation
from mpicoll.execution.request import DetachedPrequest, Prequest
from mpicoll.execution.state import State

__all__ = ["Record", "table"]


class Row(NamedTuple):
    """What is counted together."""

    collective: str
    form: str
    algorithm: str


#: Calls, bytes sent, seconds.
Sums = tuple[int, int, float]


def table(ranks: list[dict[Row, Sums]]) -> str:
    """The accounts of all ranks as one table."""
    lines = [("collective", "form", "algorithm", "calls", "bytes sent", "seconds")]
    for row in sorted({row for rows in ranks for row in rows}):
        calls, nbytes, seconds = zip(*(rows[row] for rows in ranks if row in rows), strict=True)
        lines.append((*row, f"{max(calls):,}", f"{sum(nbytes):,}", f"{max(seconds):.3f}"))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        "  ".join(
            cell.ljust(width) if number < 3 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    title = (
        f"mpicoll: collectives on {len(ranks)} ranks (calls and seconds of the rank with the most, "
        "bytes of all ranks)"
    )
    return "\n".join([title, *text] if len(lines) > 1 else [title, "none was called"])


class Record:
    """The account of this rank, opened by making it; collective, as it has a communicator."""

    def __init__(self) -> None:
        self.rows: dict[Row, Sums] = {}
        self.comm = native.COMM_WORLD.Dup()
        self._lock = threading.Lock()
        self._taken = threading.local()
        self._prepared: WeakKeyDictionary[Operation, tuple[Row, int]] = WeakKeyDictionary()
        self._wrap(State, "take", self._take)
        self._wrap(State, "perform", self._perform)
        self._wrap(State, "start", self._start)
        self._wrap(State, "prepare", self._prepare)
        for cls in (Prequest, DetachedPrequest):
            self._wrap(cls, "Start", self._restart)
        self._wrap(Job, "perform", self._objects)

    def everybody(self) -> list[dict[Row, Sums]] | None:
        """The accounts of all ranks on rank 0, None elsewhere; collective."""
        if self.comm.Get_rank():
            self.comm.send(self.rows, 0)
            return None
        return [self.rows, *(self.comm.recv(source=r) for r in range(1, self.comm.Get_size()))]

    @staticmethod
    def _wrap(cls: type, name: str, around: Callable) -> None:
        method = getattr(cls, name)
        setattr(cls, name, lambda *arguments: around(method, *arguments))

    def _add(self, row: Row, nbytes: int, begin: float) -> None:
        seconds = time.perf_counter() - begin
        with self._lock:
            calls, before, so_far = self.rows.get(row, (0, 0, 0.0))
            self.rows[row] = calls + 1, before + nbytes, so_far + seconds

    def _row(self, state: State, call: Call, form: str, name: str | None) -> Row:
        algorithm = "linear" if call.fixed else state.algorithm_for(call, name).name
        return Row(call.collective, form, algorithm)

    def _take(self, take: Callable, state: State, call: Call, *rest: object) -> tuple:
        key, bound = take(state, call, *rest)
        self._taken.nbytes = _bytes_sent(bound)
        return key, bound

    def _perform(
        self, perform: Callable, state: State, call: Call, tag: int, name: str | None, more: dict
    ) -> None:
        begin = time.perf_counter()
        perform(state, call, tag, name, more)
        self._add(self._row(state, call, "blocking", name), self._taken.nbytes, begin)

    def _start(
        self, start: Callable, state: State, call: Call, tag: int, name: str | None, more: dict
    ) -> object:
        begin = time.perf_counter()
        request = start(state, call, tag, name, more)
        row = self._row(state, call, "non-blocking", name)
        self._at_end(request._operation, row, self._taken.nbytes, begin)
        return request

    def _prepare(
        self, prepare: Callable, state: State, call: Call, tag: int, name: str | None, more: dict
    ) -> object:
        request = prepare(state, call, tag, name, more)
        row = self._row(state, call, "persistent", name)
        self._prepared[request._prepared] = row, self._taken.nbytes
        return request

    def _restart(self, start: Callable, request: Prequest) -> None:
        begin = time.perf_counter()
        start(request)
        self._at_end(request._operation, *self._prepared[request._operation], begin)

    def _at_end(self, operation: Operation, row: Row, nbytes: int, begin: float) -> None:
        with operation.lock:
            if not operation.complete:
                operation.at_end.append(lambda error: self._add(row, nbytes, begin))
                return
        self._add(row, nbytes, begin)

    def _objects(self, perform: Callable, job: Job, collective: str, *rest: object) -> list:
        begin = time.perf_counter()
        results = perform(job, collective, *rest)
        self._add(Row(collective, "objects", job.script.algorithm), job.nbytes, begin)
        return results


def _bytes_sent(bound: Bound) -> int:
    return sum(
        count * datatype.Get_size()
        for _, _, sends, _ in bound.rounds
        for (_, count, datatype), _ in sends
    )
