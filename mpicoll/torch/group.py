"""A process group of torch.distributed whose collectives are mpicoll's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial

import torch.distributed as dist
from mpi4py import MPI
from torch import Tensor
from torch.distributed import DistBackendError

from mpicoll.communicator import Intracomm
from mpicoll.execution.operation import Operation
from mpicoll.launch.stacks import ranks_text
from mpicoll.torch.account import accounts
from mpicoll.torch.calls import Caller, Prepared
from mpicoll.torch.collectives import Collectives
from mpicoll.torch.monitored import meet
from mpicoll.torch.tensors import block, operand, result
from mpicoll.torch.watch import Watch
from mpicoll.torch.work import DONE, Message, Work

__all__ = ["ProcessGroup"]


class ProcessGroup(Collectives):
    """The ranks of `comm`, whose numbers in the world are `ranks`."""

    def __init__(
        self,
        comm: Intracomm,
        store: dist.Store,
        ranks: Sequence[int],
        timeout: timedelta,
        name: str,
        watch: Watch,
    ) -> None:
        super().__init__(comm.Get_rank(), comm.Get_size())
        self.store = store
        self.comm, self.ranks, self.watch = comm, tuple(ranks), watch
        self.timeout = timeout.total_seconds()
        self.broken: str | None = None
        self.calls, self.last = 0, ""
        self._caller = Caller(comm.state)
        self._group_name, self._description = name, ""
        watch.groups[name] = self

    # What torch asks every group.

    def getBackendName(self) -> str:
        """The word for `init_process_group`."""
        return "mpicoll"

    def getGroupName(self) -> str:
        """The name that torch gave."""
        return self._group_name

    group_name = property(getGroupName)

    def setGroupName(self, name: str) -> None:
        """Take the name that torch gives."""
        self.watch.groups.pop(self._group_name, None)
        self._group_name = name
        self.watch.groups[name] = self

    def getGroupDesc(self) -> str:
        """The description that torch gave."""
        return self._description

    def setGroupDesc(self, description: str) -> None:
        """Take the description that torch gives."""
        self._description = description

    @property
    def title(self) -> str:
        """The group in sentences."""
        return f"the group of {ranks_text(self.ranks)}"

    def set_timeout(self, timeout: timedelta) -> None:
        """Let later calls wait for so long."""
        self.timeout = timeout.total_seconds()

    _set_default_timeout = set_timeout

    def _get_sequence_number_for_group(self) -> int:
        return self.calls

    def _set_sequence_number_for_group(self) -> None:
        """Calls are counted from 0 on all ranks."""

    def shutdown(self) -> None:
        """Leave the group; collective on its ranks, as `dist.destroy_process_group` is."""
        self.watch.groups.pop(self._group_name, None)
        if self.comm == MPI.COMM_NULL:
            return
        if self.broken is None:
            self.comm.Free()
        if self._description == "default_pg":
            self.watch.stop()

    def abort(self) -> None:
        """Leave the group without a word."""
        self.broken = self.broken or f"{self.title} has been aborted"
        self.shutdown()

    def monitored_barrier(
        self, timeout: timedelta | float | None = None, wait_all_ranks: bool = False
    ) -> None:
        """Wait for every rank; DistBackendError that names those that do not come in time.

        `timeout` may be a number of seconds.
        """
        self._enter("monitored_barrier")
        seconds = self.timeout
        if timeout is not None:
            seconds = float(getattr(timeout, "total_seconds", lambda: timeout)())
        meet(self, seconds, wait_all_ranks)

    # Messages.

    def send(self, tensors: Sequence[Tensor], dstRank: int, tag: int = 0) -> Work:
        """dist.send and isend."""
        self._enter("send")
        given = operand(tensors[0])
        what = f"that rank {self.ranks[dstRank]} takes a message with tag {tag}"
        message = Message(self.comm.Isend(block(given), dstRank, tag), what, None)
        for account in accounts:
            account.add("send", given.nbytes, given.nbytes * (dstRank != self.rank()))
        return Work(self, "send", [message], list(tensors), given, self.timeout)

    def recv(self, tensors: Sequence[Tensor], srcRank: int, tag: int = 0) -> Work:
        """dist.recv and irecv."""
        self._enter("recv")
        place, back = result(tensors[0])
        sender = "any rank" if srcRank == MPI.ANY_SOURCE else f"rank {self.ranks[srcRank]}"
        what = f"a message from {sender} with tag {tag}"
        message = Message(self.comm.Irecv(block(place), srcRank, tag), what, place.nbytes)
        if back is not None:
            message.at_end.append(_unless_error(back))
        for account in accounts:
            account.add("recv", place.nbytes, 0)
        return Work(self, "recv", [message], list(tensors), place, self.timeout)

    def recv_anysource(self, tensors: Sequence[Tensor], tag: int = 0) -> Work:
        """dist.recv from whoever sends."""
        return self.recv(tensors, MPI.ANY_SOURCE, tag)

    # How they run.

    def _enter(self, name: str) -> None:
        if self.broken is not None:
            raise DistBackendError(f"{name} on a group that has failed before:\n{self.broken}")

    def _run(
        self,
        name: str,
        number: int,
        read: Callable[[], list[Prepared]],
        opts: object,
        tensors: list,
        timeout: timedelta | None = None,
    ) -> Work:
        """Start the calls that `read` gives, `number` of them; wait if torch would do so at once.

        Tags are taken first, so that ranks stay in step if reading fails on one of them.
        """
        self._enter(name)
        self.calls += 1
        self.last = f"{name}, number {self.calls}"
        state, operations = self.comm.state, []
        tags = [state.next_tag() for _ in range(number)]
        calls = read()
        for prepared, tag in zip(calls, tags, strict=True):
            prepared.call.method = name
            operation = state.operation(prepared.call, tag, None, {})
            if prepared.back is not None:
                operation.at_end.append(_unless_error(prepared.back))
            operations.append(operation)
            for account in accounts:
                account.add(name, prepared.nbytes, operation.bound.bytes_sent)
        seconds = self._seconds(opts, timeout)
        if getattr(opts, "asyncOp", True):
            keep = [prepared.keep for prepared in calls]
            return Work(self, self.last, operations, tensors, keep, seconds)
        left = [operation for operation in operations if not operation.start()]
        if left:
            self.watch.wait(self, self.last, operations, partial(_moved, left), seconds)
        for operation in operations:
            operation.check()
        return DONE

    def _seconds(self, opts: object, timeout: timedelta | None) -> float:
        if timeout is None:
            timeout = getattr(opts, "timeout", None)
        if timeout is None:
            return self.timeout
        seconds = timeout.total_seconds()
        return seconds if seconds > 0 else self.timeout


def _moved(left: list[Operation]) -> bool:
    """Move operations that nobody else does; True when all are complete."""
    for operation in list(left):
        with operation.lock:
            if operation.advance():
                left.remove(operation)
    return not left


def _unless_error(back):
    def ended(error: BaseException | None) -> None:
        if error is None:
            back()

    return ended
