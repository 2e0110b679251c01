"""Slow and obvious: every process puts the whole x and W together and multiplies."""

import numpy as np

from mpicoll.learn import trial


def row_parallel_linear(comm, x, weight, y):
    """Fill `y` with the product of all columns of x and all rows of W."""
    whole_x = np.concatenate(comm.allgather(x), axis=1)
    y[...] = whole_x @ np.concatenate(comm.allgather(weight), axis=0)


def inputs(size, n, random):
    """2 columns of x (n, 2 P), 2 rows of W (2 P, 4), and room for y (n, 4), for each rank."""
    return [
        (
            random.integers(-5, 6, (n, 2)) + 0.0,
            random.integers(-5, 6, (2, 4)) + 0.0,
            np.full((n, 4), -99.0),
        )
        for _ in range(size)
    ]


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, row_parallel_linear, inputs, n)


if __name__ == "__main__":
    trial.show(row_parallel_linear, inputs)
