"""A barrier that names those who do not come."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
import torch.distributed as dist
from torch.distributed import DistBackendError

from mpicoll.execution import native
from mpicoll.execution.progress import progress
from mpicoll.launch.stacks import ranks_text

if TYPE_CHECKING:
    from mpicoll.torch.group import ProcessGroup

__all__ = ["meet", "monitored_barrier"]


def monitored_barrier(
    group: ProcessGroup | None = None,
    timeout: timedelta | None = None,
    wait_all_ranks: bool = False,
) -> None:
    """As `torch.distributed.monitored_barrier`, which torch has for gloo alone.

    DistBackendError names the ranks that do not come within `timeout` (default: the group's), or
    the first of them unless `wait_all_ranks`. Ranks outside the group return at once.
    """
    if group is dist.GroupMember.NON_GROUP_MEMBER:
        return
    (group or dist.group.WORLD).monitored_barrier(timeout, wait_all_ranks)


def meet(group: ProcessGroup, seconds: float, wait_all_ranks: bool) -> None:
    """Wait until every rank of the group has called; collective, as far as ranks come.

    Rank 0 waits for a message from each rank, then tells them how it ended. DistBackendError on
    all ranks that have called if one does not come within `seconds` of rank 0's call; without
    `wait_all_ranks` the error names the first only.
    """
    channel, tag = group.comm.state.channel, group.comm.state.next_tag()
    rank, size = group.rank(), group.size()
    verdict, empty = np.zeros(1, "u1"), np.empty(0, "u1")
    # Others leave rank 0 the time to find out and to say so.
    deadline = time.monotonic() + seconds + (5 if rank else 0)
    if rank:
        channel.Isend(empty, 0, tag)
        answer = channel.Irecv(verdict, 0, tag)
        if not _arrived([answer], deadline):
            answer.Cancel()
            answer.Wait()
            raise DistBackendError(
                f"rank {group.ranks[rank]}: rank {group.ranks[0]} did not answer in "
                f"monitored_barrier within {seconds:g} s"
            )
        if verdict[0]:
            raise DistBackendError(
                f"rank {group.ranks[rank]}: rank {group.ranks[0]} has missed others in "
                "monitored_barrier; its error says which"
            )
        return
    calls = [channel.Irecv(empty, peer, tag) for peer in range(1, size)]
    _arrived(calls, deadline)
    # A message that came after the deadline counts as well: its sender waits for the answer.
    missing = [peer for peer, call in enumerate(calls, 1) if not call.Test()]
    verdict[0] = bool(missing)
    answers = [channel.Isend(verdict, peer, tag) for peer in range(1, size) if peer not in missing]
    native.Request.Waitall(answers)
    for peer in missing:
        calls[peer - 1].Cancel()
        calls[peer - 1].Wait()
    if missing:
        named = [group.ranks[peer] for peer in (missing if wait_all_ranks else missing[:1])]
        raise DistBackendError(
            f"rank {group.ranks[0]}: {ranks_text(named)} did not reach monitored_barrier within "
            f"{seconds:g} s"
        )


def _arrived(requests: list[native.Request], deadline: float) -> bool:
    """Wait for messages; False if the deadline passes first."""
    while not native.Request.Testall(requests):
        progress.move()
        if time.monotonic() > deadline:
            return False
        time.sleep(0)
    return True
