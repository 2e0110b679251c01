"""Obvious: MPI's own allreduce."""

import numpy as np
from mpi4py import MPI

from mpicoll.learn import trial


def ring_allreduce(comm, sendbuf, recvbuf, op):
    """Store the reduction of all `sendbuf` in every rank's `recvbuf`."""
    comm.Allreduce(sendbuf, recvbuf, op)


def inputs(size, n, random):
    """A vector of size + n numbers, room for the result, and SUM, for each rank."""
    length = size + n
    return [
        (np.arange(1.0, length + 1) * 10**rank, np.full(length, -1.0), MPI.SUM)
        for rank in range(size)
    ]


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, ring_allreduce, inputs, n)


if __name__ == "__main__":
    trial.show(ring_allreduce, inputs)
