"""gloo through torch.distributed, on CPU tensors that share the memory of NumPy arrays."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from mpi4py import MPI

from mpicoll.bench.candidates import Candidate
from mpicoll.bench.work import Work

__all__ = ["Gloo"]

Run = Callable[[], object]

#: Operations that gloo has by MPI's names.
_OPS = {"SUM": "SUM", "PROD": "PRODUCT", "MAX": "MAX", "MIN": "MIN"}


@contextmanager
def _silence() -> Iterator[None]:
    """Keep what the library itself writes to standard output out of the tables."""
    sys.stdout.flush()
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


class Gloo:
    """A process group of all ranks."""

    def __init__(self, comm: MPI.Intracomm, op: str) -> None:
        import torch
        from torch import distributed

        torch.set_num_threads(1)
        self._torch, self._group = torch, distributed
        self._op = getattr(distributed.ReduceOp, _OPS[op]) if op in _OPS else None
        rank, size = comm.Get_rank(), comm.Get_size()
        one_host = len(set(comm.allgather(MPI.Get_processor_name()))) == 1
        host = comm.bcast("127.0.0.1" if one_host else socket.gethostname())
        if rank == 0:
            store = distributed.TCPStore(host, 0, size, True, wait_for_workers=False)
            comm.bcast(store.port)
        else:
            store = distributed.TCPStore(host, comm.bcast(None), size, False)
        with _silence():
            distributed.init_process_group("gloo", store=store, rank=rank, world_size=size)

    def close(self) -> None:
        """Leave the group; collective."""
        self._group.destroy_process_group()

    def candidate(self, comm: MPI.Intracomm, work: Work) -> Candidate | None:
        """The collective on the memory of `work`, tried once; None if gloo lacks it. Collective.

        Reductions of whole vectors are in place in gloo; putting the operands there is not timed.
        """
        if self._op is None and work.collective in ("reduce", "allreduce", "reduce_scatter"):
            return None
        run, before = self._prepared(work)
        failed = run is None
        if run is not None:
            try:
                run()
            except (RuntimeError, NotImplementedError, ValueError):
                failed = True
        if comm.allreduce(int(failed), op=MPI.MAX):
            return None
        return Candidate("gloo", "gloo", run, before=before)

    def _prepared(self, work: Work) -> tuple[Run | None, Run | None]:
        """What is to be timed, and what is to be done before it."""
        group, root, op = self._group, work.root, self._op
        send, receive = (
            None if array is None else self._torch.from_numpy(array)
            for array in (work.send, work.receive)
        )
        # reduce leaves partial sums elsewhere: those ranks need memory for them too.
        own = send.clone() if receive is None and send is not None else receive

        whole = work.collective in ("allreduce", "reduce")
        fill = partial(own.copy_, send) if whole else None

        def blocks(tensor):  # in gather and scatter only the root has them
            return None if tensor is None else list(tensor.chunk(work.size))

        match work.collective:
            case "barrier":
                return group.barrier, None
            case "bcast":
                return partial(group.broadcast, receive, root), None
            case "allreduce":
                return partial(group.all_reduce, own, op), fill
            case "reduce":
                return partial(group.reduce, own, root, op), fill
            case "allgather":
                return partial(group.all_gather_into_tensor, receive, send), None
            case "reduce_scatter":
                return partial(group.reduce_scatter_tensor, receive, send, op), None
            case "alltoall":
                return partial(group.all_to_all_single, receive, send), None
            case "gather":
                return partial(group.gather, send, blocks(receive), root), None
            case "scatter":
                return partial(group.scatter, receive, blocks(send), root), None
        return None, None
