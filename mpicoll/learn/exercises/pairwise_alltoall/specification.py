"""Obvious: MPI's own all-to-all."""

import numpy as np

from mpicoll.learn import trial


def pairwise_alltoall(comm, sendbuf, recvbuf):
    """Place piece `rank` of rank i's `sendbuf` as piece i into `recvbuf`."""
    comm.Alltoall(sendbuf, recvbuf)


def inputs(size, n, random):
    """`size` pieces of n numbers (100 x sender + receiver), and room for as many, for each rank."""
    return [
        (np.repeat(100.0 * rank + np.arange(size), n), np.full(size * n, -1.0))
        for rank in range(size)
    ]


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, pairwise_alltoall, inputs, n)


if __name__ == "__main__":
    trial.show(pairwise_alltoall, inputs)
