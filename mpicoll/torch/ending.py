"""The end of a process: MPI must not wait for ranks that will not come.

MPI's own end waits until messages are taken and other ranks have ended too. After a failure that
may never happen, so the job is ended instead.
"""

from __future__ import annotations

import atexit
import sys
import time
from collections.abc import Sequence

import torch.distributed as dist
from mpi4py import MPI

from mpicoll.execution import native
from mpicoll.execution.operation import Operation
from mpicoll.torch.work import Message

__all__ = ["abandon"]

#: Seconds for messages to arrive after all.
GRACE = 1.0

#: Operations that nobody waits for any more; what they send and receive may still move.
_abandoned: list[Operation | Message] = []


def abandon(operations: Sequence[Operation | Message]) -> None:
    """Keep operations that have failed, and their memory, until the process ends."""
    _abandoned.extend(operations)


def _all_settled() -> bool:
    """Withdraw what was to be received; True if the rest has been sent."""
    requests: list[native.Request] = []
    for operation in _abandoned:
        requests += operation.requests
        if isinstance(operation, Message):
            receives = int(operation.nbytes is not None)
        else:
            rounds, position = operation.bound.rounds, operation.position
            receives = len(rounds[position].receives) if position < len(rounds) else 0
        for request in operation.requests[:receives]:
            if request != MPI.REQUEST_NULL:
                request.Cancel()
    limit = time.monotonic() + GRACE
    while not native.Request.Testall(requests):
        if time.monotonic() > limit:
            return False
        time.sleep(0.01)
    return True


def _end() -> None:
    # A script that ends by an exception leaves it here.
    failed = getattr(sys, "last_value", None) is not None and dist.is_initialized()
    if failed or not _all_settled():
        why = "this rank has failed" if failed else "messages of failed calls are still under way"
        print(f"mpicoll.torch: {why}; ending all ranks", file=sys.stderr, flush=True)
        sys.stdout.flush()
        native.COMM_WORLD.Abort(1)


atexit.register(_end)
