"""Obvious: MPI's own reduce-scatter."""

import numpy as np
from mpi4py import MPI

from mpicoll.learn import trial


def ring_reduce_scatter(comm, sendbuf, recvbuf, op):
    """Store block `rank` of the reduction of all `sendbuf` in `recvbuf`."""
    comm.Reduce_scatter_block(sendbuf, recvbuf, op)


def inputs(size, n, random):
    """`size` blocks of n numbers, room for one, and the operation SUM, for each rank."""
    return [
        (np.repeat(np.arange(1.0, size + 1), n) * 10**rank, np.full(n, -1.0), MPI.SUM)
        for rank in range(size)
    ]


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, ring_reduce_scatter, inputs, n)


if __name__ == "__main__":
    trial.show(ring_reduce_scatter, inputs)
