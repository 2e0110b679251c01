"""Slow and obvious: everyone sees all strips."""

import numpy as np

from mpicoll.learn import trial


def repair_deadlock(comm, field):
    """Fill the ghost rows from the neighbours' strips."""
    strips = comm.allgather(field.copy())
    rank, size = comm.Get_rank(), comm.Get_size()
    field[0] = strips[rank - 1][-2]
    field[-1] = strips[(rank + 1) % size][1]


def inputs(size, n, random):
    """Four rows of n numbers, the outer ones ghosts, for each rank."""
    fields = [np.full((4, n), -1.0) for _ in range(size)]
    for rank, field in enumerate(fields):
        field[1:3] = 100 * rank + random.integers(0, 100, (2, n))
    return [(field,) for field in fields]


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, repair_deadlock, inputs, n)


if __name__ == "__main__":
    trial.show(repair_deadlock, inputs)
