"""Slow and obvious: every process trains alone, on the samples of all."""

import numpy as np

from mpicoll.learn import trial


def data_parallel(comm, weights, inputs, targets, rate, steps):
    """Train `weights` in place on all ranks' samples."""
    weights[:] = comm.allgather(weights.copy())[0]
    samples = np.concatenate(comm.allgather(inputs))
    wanted = np.concatenate(comm.allgather(targets))
    for _ in range(steps):
        weights -= rate * samples.T @ (samples @ weights - wanted) / len(wanted)


def inputs(size, n, random, steps=2):
    """For each rank: weights, n samples (or more, or none) of 3 features, rate and steps."""
    result = []
    for rank in range(size):
        samples = 0 if rank % 3 == 1 else n + rank
        result.append(
            (
                random.normal(size=3),
                random.normal(size=(samples, 3)),
                random.normal(size=samples),
                0.1,
                steps,
            )
        )
    return result


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, data_parallel, inputs, n)


if __name__ == "__main__":
    trial.show(data_parallel, inputs)
