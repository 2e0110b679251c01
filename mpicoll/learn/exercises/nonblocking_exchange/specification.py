"""Slow and obvious: everyone gets everything and picks the two parts that are meant for it."""

import numpy as np

from mpicoll.learn import trial


def nonblocking_exchange(comm, to_left, to_right, from_left, from_right):
    """Fill `from_left` and `from_right` with what the neighbours mean for this rank."""
    everything = comm.allgather((to_left, to_right))
    rank, size = comm.Get_rank(), comm.Get_size()
    from_left[...] = everything[rank - 1][1]
    from_right[...] = everything[(rank + 1) % size][0]


def inputs(size, n, random):
    """Two arrays to send and two to fill, n numbers each, for each rank."""
    return [
        (
            random.integers(0, 50, n) + 100.0 * rank,
            random.integers(50, 100, n) + 100.0 * rank,
            np.full(n, -1.0),
            np.full(n, -1.0),
        )
        for rank in range(size)
    ]


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, nonblocking_exchange, inputs, n)


if __name__ == "__main__":
    trial.show(nonblocking_exchange, inputs)
