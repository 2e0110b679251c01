"""Each block goes around the ring twice: once to be summed, once to be copied."""

import numpy as np


def ring_allreduce(comm, sendbuf, recvbuf, op):
    """Store the reduction of all `sendbuf` in every rank's `recvbuf`."""
    rank, size = comm.Get_rank(), comm.Get_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    mine = np.array_split(sendbuf.reshape(-1), size)
    result = np.array_split(recvbuf.reshape(-1), size)

    partial = mine[(rank - 1) % size]
    for step in range(1, size):
        incoming = (rank - step - 1) % size
        arrived = np.empty_like(mine[incoming])
        comm.Sendrecv(partial, right, 0, arrived, left, 0)
        partial = op(mine[incoming], arrived)
    result[rank][:] = partial

    for step in range(size - 1):
        outgoing, incoming = (rank - step) % size, (rank - step - 1) % size
        comm.Sendrecv(result[outgoing], right, 0, result[incoming], left, 0)
