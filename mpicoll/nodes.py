"""Which ranks share a node, found by point-to-point messages and kept with the communicator.

A node is what has one host name and one kernel: two containers on a machine are two nodes, and so
are two machines that are both called localhost. Where that is not what counts, ``MPICOLL_NODES``
says it, alike on all ranks::

    MPICOLL_NODES=4          every 4 consecutive ranks of COMM_WORLD are a node
    MPICOLL_NODES=0,0,1,1    the node of each rank of COMM_WORLD
    MPICOLL_NODES=one        all ranks are on one node
    MPICOLL_NODES=hosts      the default
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from mpi4py import MPI

from mpicoll.execution import blocking, moving, native
from mpicoll.execution.bind import bind
from mpicoll.registry import find
from mpicoll.topology import node_groups

__all__ = ["VARIABLE", "find_nodes", "nodes_of", "shape"]

VARIABLE = "MPICOLL_NODES"
BOOT = Path("/proc/sys/kernel/random/boot_id")
BYTES = 16
#: Calls have tags from 1 on.
TAG = 0


def nodes_of(comm: MPI.Intracomm) -> tuple[int, ...]:
    """The number of the node of each rank, nodes in the order of their first rank.

    Collective if `comm` is none of mpicoll's communicators and has not been asked about before.
    ValueError if ``MPICOLL_NODES`` makes no sense.
    """
    from mpicoll.execution.state import state_of

    return state_of(comm).nodes or (0,) * comm.Get_size()


def shape(nodes: Sequence[int] | None, size: int) -> str:
    """Nodes times ranks of each; unequal nodes one after the other.

    >>> shape((0, 0, 1, 1, 2, 2), 6), shape(None, 4), shape((0, 1, 1), 3)
    ('3x2', '1x4', '1x1+1x2')
    """
    counts = [len(members) for members in node_groups(nodes, size)]
    return "+".join(f"{len(list(alike))}x{count}" for count, alike in groupby(counts))


def find_nodes(channel: native.Intracomm) -> tuple[int, ...] | None:
    """As `nodes_of`, but None if all ranks are on one node; collective."""
    rank, size = channel.Get_rank(), channel.Get_size()
    name = _name(native.COMM_WORLD.Get_rank(), native.COMM_WORLD.Get_size())
    if size == 1:
        return None
    mine = np.frombuffer(hashlib.blake2b(name.encode(), digest_size=BYTES).digest(), np.uint8)
    everyone = np.empty((size, BYTES), np.uint8)
    call = moving.allgather(rank, size, mine, everyone, False)
    bound = bind(find("allgather", "bruck").plan(rank, size), call, size)
    blocking.run(bound.program, channel, TAG)
    bound.free()
    numbers: dict[bytes, int] = {}
    nodes = tuple(numbers.setdefault(key.tobytes(), len(numbers)) for key in everyone)
    return nodes if len(numbers) > 1 else None


def _name(rank: int, size: int) -> str:
    """What all ranks of this one's node, and no others, have in common."""
    text = os.environ.get(VARIABLE) or "hosts"
    if text == "hosts":
        kernel = BOOT.read_text() if BOOT.exists() else ""
        return f"{MPI.Get_processor_name()} {kernel}"
    if text == "one":
        return text
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) == 1 and numbers[0] > 0:
        return str(rank // numbers[0])
    if len(numbers) != size:
        raise ValueError(
            f"{VARIABLE} is hosts, one, a number of ranks, or the node of each of {size} ranks, "
            f"not {text!r}"
        )
    return str(numbers[rank])
