"""Progress of started collectives: whoever waits keeps all of them moving.

MPI promises that a started operation goes on whatever its process does inside MPI. A collective of
ours has local work between its messages, which somebody must do:

* every wait of ours, blocking collectives included, moves all pending operations of the process;
* a helper thread moves those that nobody has moved for a while (when a rank sits in a receive of
  the user's, or in `MPI.Request.Waitall`). It needs MPI_THREAD_MULTIPLE, which is mpi4py's default,
  starts with the first operation that cannot be finished at once, and sleeps while there is none.
  ``MPICOLL_PROGRESS=thread`` makes it move operations all the time, so that communication overlaps
  computation; ``MPICOLL_PROGRESS=none`` forbids it.

The set of pending operations belongs to the process, as MPI's own does.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from mpi4py import MPI

from mpicoll.execution import native

__all__ = ["Progress", "progress", "wait_all"]

#: How long an operation is left alone before the helper thread moves it, in seconds.
PATIENCE = 1e-3
#: Looks for something to do, PATIENCE apart, before the helper thread falls asleep.
DROWSY = 20
#: Pause of the helper thread between two rounds when it is asked for overlap, in seconds.
PAUSE = 5e-5
#: Unsuccessful polls before the processor is offered to others.
POLLS = 20


class Operation(Protocol):
    """What can be pending: see `mpicoll.execution.request.Operation`."""

    lock: threading.Lock
    moved: float
    eager: bool

    def advance(self, block: bool = False) -> bool:
        """Do what can be done; True when the operation is complete."""


class Progress:
    """The pending operations of this process and the thread that looks after them."""

    def __init__(self) -> None:
        self.pending: dict[Operation, None] = {}
        self.mode = os.environ.get("MPICOLL_PROGRESS", "auto")
        self._wake = threading.Event()
        self._asleep = False
        self._thread: threading.Thread | None = None
        self._stopped = False

    @property
    def threads(self) -> bool:
        """True if a helper thread may run."""
        return self.mode != "none" and MPI.Query_thread() == MPI.THREAD_MULTIPLE

    def add(self, operation: Operation) -> None:
        """Look after an operation that has been started and is not complete."""
        operation.moved = time.monotonic()
        self.pending[operation] = None
        if self.threads:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="mpicoll", daemon=True)
                self._thread.start()
            if self._asleep:
                self._wake.set()

    def move(self) -> None:
        """Move every pending operation that nobody else is moving."""
        for operation in list(self.pending):
            self._move(operation)

    def _move(self, operation: Operation) -> None:
        if operation.lock.acquire(blocking=False):
            try:
                operation.moved = time.monotonic()
                if operation.advance():
                    self.pending.pop(operation, None)
            finally:
                operation.lock.release()

    def finish(self, operation: Operation) -> None:
        """Wait until `operation` is complete."""
        polls = 0
        while operation in self.pending:
            if len(self.pending) == 1:
                with operation.lock:
                    if operation.advance(block=True):
                        self.pending.pop(operation, None)
            else:
                self.move()
                polls = self._breathe(polls)

    def until(self, ready: Callable[[], bool]) -> None:
        """Keep everything moving until `ready()`."""
        polls = 0
        while not ready():
            self.move()
            polls = self._breathe(polls)

    @staticmethod
    def _breathe(polls: int) -> int:
        if polls < POLLS:
            return polls + 1
        time.sleep(0)
        return polls

    def _run(self) -> None:
        idle = 0
        while not self._stopped:
            # To wake a thread costs more than a short collective, so this one falls asleep only
            # after some time with nothing to do.
            idle = 0 if self.pending else idle + 1
            if idle > DROWSY:
                self._asleep = True
                if not self.pending:
                    self._wake.wait()
                self._asleep = False
                self._wake.clear()
                idle = 0
            overlap = self.pending and (
                self.mode == "thread" or any(operation.eager for operation in list(self.pending))
            )
            time.sleep(PAUSE if overlap else PATIENCE)
            now = time.monotonic()
            for operation in list(self.pending):
                if overlap or now - operation.moved >= PATIENCE:
                    self._move(operation)

    def stop(self) -> None:
        """End the helper thread, before MPI is finalized."""
        self._stopped = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=5)


progress = Progress()
atexit.register(progress.stop)


def wait_all(requests: Sequence[native.Request]) -> None:
    """Wait for messages, keeping pending collectives moving meanwhile."""
    if progress.pending:
        progress.until(lambda: native.Request.Testall(requests))
    else:
        native.Request.Waitall(requests)
