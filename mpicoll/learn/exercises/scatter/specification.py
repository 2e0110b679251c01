"""Obvious: MPI's own scatter."""

import numpy as np

from mpicoll.learn import trial


def scatter(comm, sendbuf, recvbuf, root):
    """Fill `recvbuf` with this rank's piece of the root's `sendbuf`."""
    comm.Scatter(sendbuf, recvbuf, root)


def inputs(size, n, random):
    """The root (the last rank) has `size` pieces of n numbers, for each rank."""
    root = size - 1
    return [
        (np.arange(size * n) + 0.0 if rank == root else None, np.full(n, -1.0), root)
        for rank in range(size)
    ]


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, scatter, inputs, n)


if __name__ == "__main__":
    trial.show(scatter, inputs)
