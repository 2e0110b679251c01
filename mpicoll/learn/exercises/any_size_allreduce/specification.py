"""Slow and obvious: everyone gets every vector and combines them in rank order."""

import numpy as np
from mpi4py import MPI

from mpicoll.learn import trial


def any_size_allreduce(comm, sendbuf, recvbuf, op):
    """Store the reduction of all `sendbuf`, in rank order, in every rank's `recvbuf`."""
    vectors = comm.allgather(sendbuf)
    total = vectors[0]
    for vector in vectors[1:]:
        total = op(total, vector)
    recvbuf[...] = total


def inputs(size, n, random):
    """A vector of n numbers, room for the result, and SUM, for each rank."""
    return [(np.arange(1.0, n + 1) * 10**rank, np.full(n, -1.0), MPI.SUM) for rank in range(size)]


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, any_size_allreduce, inputs, n)


if __name__ == "__main__":
    trial.show(any_size_allreduce, inputs)
