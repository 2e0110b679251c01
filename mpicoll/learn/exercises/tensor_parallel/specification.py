"""Slow and obvious: every process has the whole MLP."""

import numpy as np

from mpicoll.learn import trial


def tensor_parallel(comm, x, first, second, dy, y, dx):
    """Fill `y` = relu(x A) B and `dx`, the gradient with respect to x."""
    a = np.concatenate(comm.allgather(first), axis=1)
    b = np.concatenate(comm.allgather(second), axis=0)
    hidden = np.maximum(x @ a, 0)
    y[...] = hidden @ b
    dx[...] = ((dy @ b.T) * (hidden > 0)) @ a.T


def inputs(size, n, random):
    """For each rank: x and dy (n, 3), 2 columns of A, 2 rows of B, room for y and dx."""
    x, dy = random.integers(-5, 6, (2, n, 3)) + 0.0
    return [
        (
            x.copy(),
            random.integers(-5, 6, (3, 2)) + 0.0,
            random.integers(-5, 6, (2, 3)) + 0.0,
            dy.copy(),
            np.full((n, 3), -99.0),
            np.full((n, 3), -99.0),
        )
        for _ in range(size)
    ]


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, tensor_parallel, inputs, n)


if __name__ == "__main__":
    trial.show(tensor_parallel, inputs)
