"""Everyone hands its sum to the rank `distance` further on; what is known doubles each round."""

import numpy as np
from mpi4py import MPI


def prefix_sum(comm, sendbuf, recvbuf, op):
    """Store the reduction over ranks 0 .. rank, in rank order, in `recvbuf`."""
    rank, size = comm.Get_rank(), comm.Get_size()
    total, arrived = sendbuf.copy(), np.empty_like(sendbuf)
    distance = 1
    while distance < size:
        to = rank + distance if rank + distance < size else MPI.PROC_NULL
        source = rank - distance if rank >= distance else MPI.PROC_NULL
        comm.Sendrecv(total, to, 0, arrived, source, 0)
        if rank >= distance:
            total = op(arrived, total)
        distance *= 2
    recvbuf[...] = total
