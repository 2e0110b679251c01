"""Obvious: MPI's own allgather."""

import numpy as np

from mpicoll.learn import trial


def ring_allgather(comm, sendbuf, recvbuf):
    """Fill `recvbuf` with all ranks' pieces, in rank order."""
    comm.Allgather(sendbuf, recvbuf)


def inputs(size, n, random):
    """A piece of n numbers, and room for all pieces, for each rank."""
    return [(np.arange(n) + 10.0 * rank, np.full(size * n, -1.0)) for rank in range(size)]


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, ring_allgather, inputs, n)


if __name__ == "__main__":
    trial.show(ring_allgather, inputs)
