"""Obvious: MPI's own broadcast."""

import numpy as np

from mpicoll.learn import trial


def binomial_bcast(comm, buf, root):
    """Give every rank what `buf` holds on rank `root`."""
    comm.Bcast(buf, root)


def inputs(size, n, random):
    """A buffer of n numbers, and the last rank as the root, for each rank."""
    data = random.integers(0, 100, n) + 0.0
    return [(data if rank == size - 1 else np.full(n, -1.0), size - 1) for rank in range(size)]


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, binomial_bcast, inputs, n)


if __name__ == "__main__":
    trial.show(binomial_bcast, inputs)
