"""Partners differ in one bit; both put the lower one's sum on the left."""

import numpy as np


def recursive_doubling_allreduce(comm, sendbuf, recvbuf, op):
    """Store the reduction of all `sendbuf`, in rank order, in every rank's `recvbuf`."""
    rank, size = comm.Get_rank(), comm.Get_size()
    total, arrived = sendbuf.copy(), np.empty_like(sendbuf)
    distance = 1
    while distance < size:
        partner = rank ^ distance
        comm.Sendrecv(total, partner, 0, arrived, partner, 0)
        total = op(arrived, total) if partner < rank else op(total, arrived)
        distance *= 2
    recvbuf[...] = total
