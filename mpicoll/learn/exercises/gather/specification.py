"""Obvious: MPI's own gather."""

import numpy as np

from mpicoll.learn import trial


def gather(comm, sendbuf, recvbuf, root):
    """Fill the root's `recvbuf` with all pieces, in rank order."""
    comm.Gather(sendbuf, recvbuf, root)


def inputs(size, n, random):
    """A piece of n numbers; room for all of them on the root (the last rank), for each rank."""
    root = size - 1
    return [
        (np.arange(n) + 10.0 * rank, np.full(size * n, -1.0) if rank == root else None, root)
        for rank in range(size)
    ]


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, gather, inputs, n)


if __name__ == "__main__":
    trial.show(gather, inputs)
