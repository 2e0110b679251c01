"""What torch gets back for a collective or a message: a `Work`, and its future."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from mpi4py import MPI
from torch import Tensor
from torch.distributed import DistBackendError
from torch.distributed import Work as TorchWork
from torch.futures import Future

from mpicoll.execution import native
from mpicoll.execution.operation import Operation
from mpicoll.execution.progress import progress

if TYPE_CHECKING:
    from mpicoll.torch.group import ProcessGroup

__all__ = ["DONE", "Message", "Work"]


class Message:
    """One message of torch's send or recv, looked after like a started collective."""

    eager = False

    def __init__(self, request: native.Request, what: str, nbytes: int | None) -> None:
        self.request, self.what, self.nbytes = request, what, nbytes
        self.at_end: list[Callable[[BaseException | None], None]] = []
        self.lock = threading.Lock()
        self.moved = 0.0
        self.error: BaseException | None = None
        self.complete = False
        self.status = MPI.Status()

    def start(self) -> bool:
        """The message is on its way already; True if it has arrived."""
        return self.advance()

    def advance(self, block: bool = False) -> bool:
        """True when the message has arrived, after waiting for it if `block`."""
        if self.complete:
            return True
        try:
            if block:
                self.request.Wait(self.status)
            elif not self.request.Test(self.status):
                return False
            if self.nbytes is not None and self.status.Get_count(MPI.BYTE) != self.nbytes:
                raise ValueError(
                    f"{self.what}: the message has {self.status.Get_count(MPI.BYTE)} bytes, "
                    f"the tensor {self.nbytes}"
                )
        except BaseException as error:  # whoever waits must see it, in whatever thread it was
            self.error = error
        self.complete = True
        for function in self.at_end:
            function(self.error)
        return True

    @property
    def requests(self) -> list[native.Request]:
        """The message, as for operations of several."""
        return [self.request]


class Work(TorchWork):
    """A started collective or message. It keeps the tensors until they are no longer needed.

    `operations` are started here, and `tensors` is what the future gives. `timeout` in seconds
    counts from now.
    """

    def __init__(
        self,
        group: ProcessGroup,
        name: str,
        operations: Sequence[Operation | Message],
        tensors: list,
        keep: object,
        timeout: float,
    ) -> None:
        super().__init__()
        self._group, self.name, self._operations = group, name, operations
        self._tensors, self._keep, self._timeout = tensors, keep, timeout
        self._left = len(operations) + 1
        self._lock = threading.Lock()
        self._future: Future | None = None
        self._error: BaseException | None = None
        for operation in operations:
            operation.at_end.append(self._ended)
            operation.eager = True
            if not operation.start():
                progress.add(operation)
        self._ended(None)

    def _ended(self, error: BaseException | None) -> None:
        """One of the operations is complete; called by whoever moved it."""
        with self._lock:
            self._left -= 1
            self._error = self._error or error
            if self._left:
                return
            future, self._keep = self._future, None
        if future is not None:
            self._give(future)

    def _give(self, future: Future) -> None:
        if self._error is None:
            future.set_result(self._tensors)
        else:
            future.set_exception(self._error)

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        """Return when the results are there; raise what went wrong, or that it takes too long."""
        if self._left:
            seconds = timeout.total_seconds() or self._timeout
            watch, what = self._group.watch, (self._group, self.name, self._operations)
            try:
                watch.wait(*what, lambda: self._left <= 0, seconds)
            except DistBackendError as error:
                self._fail(error)
        if self._error is not None:
            raise self._error
        return True

    def _fail(self, error: BaseException) -> None:
        """Nobody is to wait for what will not come."""
        with self._lock:
            self._error = self._error or error
            left, self._left = self._left, 0
        if left and self._future is not None:
            self._give(self._future)

    def is_completed(self) -> bool:
        """True if the results are there, or an error, after moving what can be moved."""
        if self._left:
            progress.move()
        return not self._left

    def is_success(self) -> bool:
        """True if the results are there."""
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        """What went wrong, if anything."""
        return self._error

    def synchronize(self) -> None:
        """As `wait`: there is no other device to be in step with."""
        self.wait()

    def result(self) -> list[Tensor]:
        """The tensors with the results."""
        self.wait()
        return self._tensors

    def source_rank(self) -> int:
        """The sender of a message that was received from any rank."""
        self.wait()
        return self._operations[0].status.Get_source()

    _source_rank = source_rank

    def get_future(self) -> Future:
        """A future of the result tensors.

        The helper thread completes it; where none may run, it is complete when it is returned.
        """
        with self._lock:
            new = self._future is None
            if new:
                self._future = Future()
            pending = self._left
        if new and not pending:
            self._give(self._future)
        elif pending and not progress.threads:
            self.wait()
        return self._future


class _Done(TorchWork):
    """What was complete before it was returned."""

    def wait(self, timeout: timedelta = timedelta(0)) -> bool:
        return True

    def is_completed(self) -> bool:
        return True

    is_success = is_completed

    def exception(self) -> None:
        return None

    def synchronize(self) -> None:
        pass

    def result(self) -> list[Tensor]:
        return []

    def get_future(self) -> Future:
        future = Future()
        future.set_result([])
        return future


DONE = _Done()
