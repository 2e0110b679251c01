"""Slow and obvious: everyone sees rank 0's ball, and the two players count up."""

from mpicoll.learn import trial


def ping_pong(comm, ball, repeats):
    """Change `ball` as `repeats` round trips do, on ranks 0 and 1."""
    start = comm.allgather(ball)[0].copy()
    if comm.Get_rank() < 2 and repeats > 0:
        ball[:] = start
        for _ in range(repeats):
            ball += 1


def inputs(size, n, random):
    """A ball of n numbers and 4 round trips, for each rank."""
    return [(random.integers(0, 100, n) + 100.0 * (rank > 0), 4) for rank in range(size)]


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, ping_pong, inputs, n)


if __name__ == "__main__":
    trial.show(ping_pong, inputs)
