"""Deadlines: a wait that takes too long ends with an error on every rank that waits.

Whoever gives up says so in the store. A thread on each rank looks there once a second and answers
with where its rank is, so that the error can tell who waits for whom and who has not come.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import mpi4py
import torch
from torch.distributed import DistBackendError, PrefixStore, Store

import mpicoll
from mpicoll.execution.operation import Operation
from mpicoll.execution.progress import progress
from mpicoll.launch.stacks import Frame, ranks_text
from mpicoll.torch.ending import abandon
from mpicoll.torch.work import Message

if TYPE_CHECKING:
    from mpicoll.torch.group import ProcessGroup

__all__ = ["Watch"]

#: Unsuccessful polls before the processor is offered to others, and between looks at the clock.
POLLS, LOOK = 20, 64
#: Seconds between looks at the store, and for others to answer.
PERIOD, GRACE = 1.0, 4.0
#: Whose lines are not the program's.
_LIBRARIES = tuple(
    os.path.dirname(module.__file__) + os.sep for module in (mpicoll, torch, threading, mpi4py)
)


class Watch:
    """The waits of this process, and the news of waits that have failed elsewhere."""

    def __init__(self, store: Store, rank: int) -> None:
        self.rank = rank
        self.groups: dict[str, ProcessGroup] = {}
        self.alarm: str | None = None  # the name of the first group in which somebody gave up
        self._waits: dict[int, tuple[ProcessGroup, str, Sequence]] = {}
        self._store = PrefixStore("mpicoll", store)
        self._main = threading.get_ident()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mpicoll-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()
        self._thread.join(timeout=2 * PERIOD)

    def wait(
        self,
        group: ProcessGroup,
        name: str,
        operations: Sequence[Operation | Message],
        done: Callable[[], bool],
        seconds: float,
    ) -> None:
        """Return when `done()`, which looks after the operations if nobody else does.

        DistBackendError after so many seconds, or when others in the group have given up.
        """
        thread, started, polls = threading.get_ident(), time.monotonic(), 0
        self._waits[thread] = group, name, operations
        pending = progress.pending
        try:
            while not done():
                if pending:
                    progress.move()
                polls += 1
                if polls > POLLS:
                    time.sleep(0)
                if polls % LOOK == 0:
                    self._look(group, name, operations, started, seconds)
        finally:
            del self._waits[thread]

    def _look(self, group, name, operations, started: float, seconds: float) -> None:
        late = time.monotonic() - started > seconds
        if not late and self.alarm != group.group_name:
            return
        for operation in operations:
            progress.pending.pop(operation, None)
        abandon(operations)
        what = f"{name} of {group.title}"
        if late:
            what = f"Timed out after {seconds:g} s in {what}"
        else:
            what += " is not complete, and others have given up waiting"
        group.broken = self._report(what, group)
        raise DistBackendError(group.broken)

    def _report(self, what: str, group: ProcessGroup) -> str:
        """What is known of every rank, once the others have had time to answer."""
        lines = [f"rank {self.rank}: {what}"]
        try:
            self._answer(group.group_name)
            self._store.set("alarm", group.group_name)
            keys = [f"{group.group_name}/{rank}" for rank in group.ranks]
            limit = time.monotonic() + GRACE
            while time.monotonic() < limit and not self._store.check(keys):
                progress.move()
                time.sleep(0.05)
            silent = []
            for rank, key in zip(group.ranks, keys, strict=True):
                if self._store.check([key]):
                    lines.append(f"  rank {rank} {self._store.get(key).decode()}")
                else:
                    silent.append(rank)
            if silent:
                do = "does" if len(silent) == 1 else "do"
                lines.append(
                    f"  {ranks_text(silent)} {do} not answer: ended, or busy outside of Python"
                )
        except RuntimeError as error:
            lines.append(f"  the store does not answer: {error}")
        return "\n".join(lines)

    def _answer(self, name: str) -> None:
        """Say where this rank is, to those who wait in the group `name`."""
        group = self.groups.get(name)
        if group is not None:
            self._store.set(f"{name}/{self.rank}", self._state(group))

    def _state(self, group: ProcessGroup) -> str:
        where = _place(self._main)
        for inside, name, operations in list(self._waits.values()):
            left = [waits_for(op, inside.ranks) for op in operations if not op.complete]
            if left:
                return f"waits in {name} of {inside.title}: {left[0]}; at {where}"
        last = f"its last call was {group.last}" if group.calls else "it has made no call"
        return f"does not wait: of {group.title} {last}; at {where}"

    def _run(self) -> None:
        try:
            store = self._store.clone()
            while not self._stopped.wait(PERIOD):
                if self.alarm is None and store.check(["alarm"]):
                    store.set_timeout(timedelta(seconds=GRACE))
                    self.alarm = store.get("alarm").decode()
                    self._answer(self.alarm)
        except RuntimeError:  # the rank that keeps the store has ended
            pass


def _place(thread: int) -> str:
    """The innermost line of the program itself that a thread is at."""
    frame = found = sys._current_frames().get(thread)
    while frame is not None:
        found = frame
        if not frame.f_code.co_filename.startswith(_LIBRARIES):
            break
        frame = frame.f_back
    if found is None:
        return "an unknown place"
    return str(Frame(found.f_code.co_filename, found.f_lineno, found.f_code.co_name))


def waits_for(operation: Operation | Message, ranks: Sequence[int]) -> str:
    """Which messages an operation waits for; `ranks` are the world's numbers of the group's."""
    if isinstance(operation, Message):
        return operation.what
    peers = {"a message from": [], "that a message is taken by": []}
    with operation.lock:
        if operation.complete:
            return "nothing"
        _, receives, sends, _ = operation.bound.rounds[operation.position]
        messages = [("a message from", peer) for _, peer in receives]
        messages += [("that a message is taken by", peer) for _, peer in sends]
        for (kind, peer), request in zip(messages, operation.requests, strict=True):
            if not request.Get_status():
                peers[kind].append(ranks[peer])
        number = operation.position + 1
    text = " and ".join(f"{kind} {ranks_text(whom)}" for kind, whom in peers.items() if whom)
    return f"round {number} of {len(operation.bound.rounds)}, {text or 'done'}"
