"""Slow and obvious: everyone gets every buffer and keeps the root's."""

import numpy as np

from mpicoll.learn import trial


def pipelined_bcast(comm, buf, root, segments):
    """Give every rank what `buf` holds on rank `root`."""
    buf[...] = comm.allgather(buf.copy())[root]


def inputs(size, n, random, segments=3):
    """A buffer of n numbers, the root, and the number of segments, for each rank."""
    root = size // 2
    data = random.integers(0, 100, n) + 0.0
    return [(data if rank == root else np.full(n, -1.0), root, segments) for rank in range(size)]


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, pipelined_bcast, inputs, n)


if __name__ == "__main__":
    trial.show(pipelined_bcast, inputs)
