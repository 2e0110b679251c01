"""In the round of `distance`, those whose number has that bit send their sum and are done."""

import numpy as np


def binomial_reduce(comm, sendbuf, recvbuf, op, root):
    """Store the reduction of all `sendbuf` in the root's `recvbuf`."""
    rank, size = comm.Get_rank(), comm.Get_size()
    relative = (rank - root) % size
    total, arrived = sendbuf.copy(), np.empty_like(sendbuf)
    distance = 1
    while distance < size:
        if relative & distance:
            comm.Send(total, (rank - distance) % size)
            return
        if relative + distance < size:
            comm.Recv(arrived, (rank + distance) % size)
            total = op(total, arrived)
        distance *= 2
    recvbuf[...] = total
