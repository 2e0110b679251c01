"""Fold the spare ranks into their neighbours, double among the rest, give the result back."""

import numpy as np


def any_size_allreduce(comm, sendbuf, recvbuf, op):
    """Store the reduction of all `sendbuf`, in rank order, in every rank's `recvbuf`."""
    rank, size = comm.Get_rank(), comm.Get_size()
    core = 1 << (size.bit_length() - 1)
    spare = size - core
    if rank < 2 * spare and rank % 2 == 0:
        comm.Send(sendbuf, rank + 1)
        comm.Recv(recvbuf, rank + 1)
        return

    total, arrived = sendbuf.copy(), np.empty_like(sendbuf)
    if rank < 2 * spare:
        comm.Recv(arrived, rank - 1)
        total = op(arrived, total)
    player = rank // 2 if rank < 2 * spare else rank - spare
    distance = 1
    while distance < core:
        other = player ^ distance
        partner = 2 * other + 1 if other < spare else other + spare
        comm.Sendrecv(total, partner, 0, arrived, partner, 0)
        total = op(arrived, total) if other < player else op(total, arrived)
        distance *= 2
    if rank < 2 * spare:
        comm.Send(total, rank - 1)
    recvbuf[...] = total
