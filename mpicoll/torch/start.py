"""How a program's ranks become a process group: rank, size and store come from MPI."""

from __future__ import annotations

import importlib
import os
import socket
from collections.abc import Iterator
from datetime import timedelta

import torch.distributed as dist
from mpi4py import MPI
from torch.distributed import distributed_c10d

from mpicoll.communicator import Intracomm
from mpicoll.execution import native
from mpicoll.torch.group import ProcessGroup
from mpicoll.torch.watch import Watch

__all__ = ["create", "register", "store_for"]

NAME = "mpicoll"
#: What torch's own way of starting is told by torchrun.
_TOLD = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")

_default: ProcessGroup | None = None


def register() -> None:
    """Make the backend known to torch, and let it find its ranks without being told."""
    dist.Backend.register_backend(NAME, create, extended_api=True, devices=["cpu"])
    dist.register_rendezvous_handler(NAME, _meet)
    # `init_process_group("mpicoll")` asks for env://, which torch gives no other way to extend.
    # (`torch.distributed.rendezvous` is a function; the module of that name has the table.)
    handlers = importlib.import_module("torch.distributed.rendezvous")._rendezvous_handlers
    told = handlers["env"]

    def untold(url: str, *arguments: object, **keywords: object) -> Iterator[tuple]:
        missing = [name for name in _TOLD if name not in os.environ]
        if missing and (native.COMM_WORLD.Get_size() > 1 or len(missing) == len(_TOLD)):
            return _meet(url, *arguments, **keywords)
        return told(url, *arguments, **keywords)

    handlers["env"] = untold


def store_for(comm: MPI.Intracomm) -> dist.TCPStore:
    """A key-value store of torch's for the ranks of `comm`, kept by rank 0; collective."""
    rank, size = comm.Get_rank(), comm.Get_size()
    names = comm.allgather(MPI.Get_processor_name())
    host = "127.0.0.1" if len(set(names)) == 1 else comm.bcast(socket.gethostname())
    if rank == 0:
        store = dist.TCPStore(host, 0, size, True, wait_for_workers=False)
        comm.bcast(store.port)
    else:
        store = dist.TCPStore(host, comm.bcast(None), size, False)
    return store


def _meet(url: str, timeout: timedelta | None = None, **_: object) -> Iterator[tuple]:
    """What torch calls a rendezvous: the store, the rank and the size."""
    comm = Intracomm(native.COMM_WORLD.Dup())
    try:
        store = store_for(comm)
    finally:
        comm.Free()
    yield store, native.COMM_WORLD.Get_rank(), native.COMM_WORLD.Get_size()
    raise RuntimeError("the ranks of MPI cannot meet again")


def create(options: object, _: object = None) -> ProcessGroup:
    """A group, as torch asks for it; collective on its ranks."""
    global _default
    ranks = list(options.global_ranks_in_group)
    common = options.store, ranks, options.timeout, options.group_id
    if ranks:
        world = distributed_c10d._get_default_group()
        if not isinstance(world, ProcessGroup):
            _check(world.rank(), world.size())
            parent, watch = native.COMM_WORLD, Watch(options.store, world.rank())
        else:
            parent, watch = world.comm, world.watch
        everyone = parent.Get_group()
        group = everyone.Incl(ranks)
        comm = native.Intracomm(parent).Create_group(group, _tag_of(options.group_id))
        group.Free()
        everyone.Free()
        return ProcessGroup(Intracomm(comm), *common, watch)
    rank, size = options.group_rank, options.group_size
    _check(rank, size)
    comm = Intracomm(native.COMM_WORLD.Dup())
    return ProcessGroup(comm, options.store, range(size), *common[2:], Watch(options.store, rank))


def _tag_of(name: str) -> int:
    """A tag for making a group, such that groups made at a time do not meet."""
    return sum(name.encode()) % 32000


def _check(rank: int, size: int) -> None:
    """RuntimeError if the ranks that torch was told are not MPI's."""
    world = native.COMM_WORLD
    if (rank, size) == (world.Get_rank(), world.Get_size()):
        return
    if world.Get_size() == 1:
        by = "torchrun" if dist.is_torchelastic_launched() else "something other than MPI"
        raise RuntimeError(
            f"mpicoll: this process was started by {by} as rank {rank} of {size}, and MPI, which "
            "carries the messages, sees it alone. Start the program by MPI instead: "
            f"mpirun -n {size} python program.py, or mpicoll run -n {size} program.py"
        )
    raise RuntimeError(
        f"mpicoll: torch was told rank {rank} of {size}, but this is MPI's rank "
        f"{world.Get_rank()} of {world.Get_size()}; leave rank, world_size and the environment's "
        "RANK and WORLD_SIZE away, or let them be MPI's"
    )
