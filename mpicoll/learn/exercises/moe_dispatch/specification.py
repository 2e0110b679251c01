"""Slow and obvious: every process has all experts, and takes its tokens one by one."""

import numpy as np

from mpicoll.learn import trial


def moe_dispatch(comm, tokens, choice, weight, output):
    """Fill output[i] with tokens[i] transformed by the expert on rank choice[i]."""
    experts = comm.allgather(weight)
    for i, expert in enumerate(choice):
        output[i] = tokens[i] @ experts[expert]


def inputs(size, n, random, favourite=False):
    """Tokens (0 to n, 2), their choices, the expert (2, 2), and room for the output.

    With `favourite` all tokens want the expert of the last rank.
    """
    result = []
    for rank in range(size):
        count = max(n + 1 - rank % 4, 0) if rank % 4 != 2 else 0
        low = size - 1 if favourite else 0
        result.append(
            (
                random.integers(-5, 6, (count, 2)) + 0.0,
                random.integers(low, size, count),
                random.integers(-5, 6, (2, 2)) + 0.0,
                np.full((count, 2), -99.0),
            )
        )
    return result


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, moe_dispatch, inputs, n)


if __name__ == "__main__":
    trial.show(moe_dispatch, inputs)
