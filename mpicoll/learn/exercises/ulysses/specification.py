"""Slow and obvious: every process does the attention for all positions and all heads."""

import numpy as np

from mpicoll.learn import trial


def ulysses(comm, q, k, v, out):
    """Fill `out` with the attention at this rank's positions, for all heads."""
    queries, keys, values = (np.concatenate(comm.allgather(x)) for x in (q, k, v))
    start = comm.Get_rank() * len(q)
    for i in range(len(q)):
        for head in range(q.shape[1]):
            scores = keys[:, head] @ queries[start + i, head] / np.sqrt(q.shape[2])
            weights = np.exp(scores - scores.max())
            out[i, head] = weights @ values[:, head] / weights.sum()


def inputs(size, n, random):
    """q, k, v and room for the result, each (n, 2 P heads, 2), for each rank."""
    shape = (n, 2 * size, 2)
    return [
        (*(random.normal(size=shape) for _ in range(3)), np.full(shape, -99.0)) for _ in range(size)
    ]


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, ulysses, inputs, n)


if __name__ == "__main__":
    trial.show(ulysses, inputs)
