"""Slow and obvious: every process computes everything and keeps its positions."""

import numpy as np

from mpicoll.learn import trial


def sequence_parallel(comm, x, first, second, y):
    """Fill `y` with this rank's positions of relu(x A) B."""
    a = np.concatenate(comm.allgather(first), axis=1)
    b = np.concatenate(comm.allgather(second), axis=0)
    whole = np.concatenate(comm.allgather(x))
    start = comm.Get_rank() * len(x)
    y[...] = (np.maximum(whole @ a, 0) @ b)[start : start + len(x)]


def inputs(size, n, random):
    """For each rank: n positions of x (n, 3), 2 columns of A, 2 rows of B, room for y (n, 3)."""
    return [
        (
            random.integers(-5, 6, (n, 3)) + 0.0,
            random.integers(-5, 6, (3, 2)) + 0.0,
            random.integers(-5, 6, (2, 3)) + 0.0,
            np.full((n, 3), -99.0),
        )
        for _ in range(size)
    ]


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, sequence_parallel, inputs, n)


if __name__ == "__main__":
    trial.show(sequence_parallel, inputs)
