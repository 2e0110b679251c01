"""Block r starts on rank r+1 and goes right; each stop adds its own, and rank r is the last."""

import numpy as np


def ring_reduce_scatter(comm, sendbuf, recvbuf, op):
    """Store block `rank` of the reduction of all `sendbuf` in `recvbuf`."""
    rank, size = comm.Get_rank(), comm.Get_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    mine = sendbuf.reshape(size, recvbuf.size)
    partial = mine[(rank - 1) % size].copy()
    arrived = np.empty_like(partial)
    for step in range(1, size):
        comm.Sendrecv(partial, right, 0, arrived, left, 0)
        partial = op(mine[(rank - step - 1) % size], arrived)
    recvbuf[...] = partial.reshape(recvbuf.shape)
