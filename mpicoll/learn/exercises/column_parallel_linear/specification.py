"""Slow and obvious: every process puts the whole W together and multiplies."""

import numpy as np

from mpicoll.learn import trial


def column_parallel_linear(comm, x, weight, y):
    """Fill `y` with x times all ranks' columns."""
    y[...] = x @ np.concatenate(comm.allgather(weight), axis=1)


def inputs(size, n, random):
    """For each rank: x (n, 4), the same for all, 2 columns of W, and room for y (n, 2 P)."""
    x = random.integers(-5, 6, (n, 4)) + 0.0
    return [
        (x.copy(), random.integers(-5, 6, (4, 2)) + 0.0, np.full((n, 2 * size), -99.0))
        for _ in range(size)
    ]


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, column_parallel_linear, inputs, n)


if __name__ == "__main__":
    trial.show(column_parallel_linear, inputs)
