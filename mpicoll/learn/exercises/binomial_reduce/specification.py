"""Slow and obvious: the root gets every vector and combines them in rank order."""

import numpy as np
from mpi4py import MPI

from mpicoll.learn import trial


def binomial_reduce(comm, sendbuf, recvbuf, op, root):
    """Store the reduction of all `sendbuf` in the root's `recvbuf`."""
    vectors = comm.gather(sendbuf, root)
    if comm.Get_rank() == root:
        total = vectors[0]
        for vector in vectors[1:]:
            total = op(total, vector)
        recvbuf[...] = total


def inputs(size, n, random):
    """A vector of n numbers, the operation SUM, and the last rank as the root, for each rank."""
    root = size - 1
    return [
        (
            np.arange(1.0, n + 1) * 10**rank,
            np.full(n, -1.0) if rank == root else None,
            MPI.SUM,
            root,
        )
        for rank in range(size)
    ]


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, binomial_reduce, inputs, n)


if __name__ == "__main__":
    trial.show(binomial_reduce, inputs)
