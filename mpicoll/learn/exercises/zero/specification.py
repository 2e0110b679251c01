"""Slow and obvious: everyone has all gradients and all of the momentum."""

import numpy as np

from mpicoll.learn import trial


def zero(comm, parameters, gradient, momentum, rate):
    """Update `parameters` and this rank's shard of `momentum` in place."""
    mean = np.mean(comm.allgather(gradient), axis=0)
    whole = 0.9 * np.concatenate(comm.allgather(momentum.copy())) + mean
    parameters -= rate * whole
    start = comm.Get_rank() * len(momentum)
    momentum[:] = whole[start : start + len(momentum)]


def inputs(size, n, random):
    """Equal parameters (P n), own gradient (P n), own momentum (n), and the rate, for each rank."""
    parameters = random.normal(size=size * n)
    return [
        (parameters.copy(), random.normal(size=size * n), random.normal(size=n), 0.5)
        for _ in range(size)
    ]


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, zero, inputs, n)


if __name__ == "__main__":
    trial.show(zero, inputs)
