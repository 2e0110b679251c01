"""Receive a segment, start to pass it on, turn to the next."""

import numpy as np
from mpi4py import MPI


def pipelined_bcast(comm, buf, root, segments):
    """Give every rank what `buf` holds on rank `root`, passing on each segment at once."""
    rank, size = comm.Get_rank(), comm.Get_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    requests = []
    for segment in np.array_split(buf.reshape(-1), segments):
        if rank != root:
            comm.Recv(segment, left)
        if right != root:
            requests.append(comm.Isend(segment, right))
    MPI.Request.Waitall(requests)
