"""Ping-pong between ranks 0 and 1: the ball grows by one at each catch of rank 1.

0 号和 1 号之间的乒乓：1 号每接到一次，球就加一。
"""

import time

import numpy as np


def ping_pong(comm, ball, repeats):
    """Play `repeats` round trips; `ball` is changed in place on ranks 0 and 1."""
    raise NotImplementedError("your code here")


def measure(comm):
    """Print half a round trip for growing messages (median of 5 runs)."""
    for nbytes in (8, 64, 512, 4096, 32768, 262144, 2097152):
        ball, seconds = np.zeros(nbytes // 8), []
        for _ in range(5):
            started = time.perf_counter()
            ping_pong(comm, ball, 10)
            seconds.append((time.perf_counter() - started) / 20)
        if comm.Get_rank() == 0:
            print(f"{nbytes:>9} bytes  {1e6 * sorted(seconds)[2]:10.1f} us")


if __name__ == "__main__":
    from mpi4py import MPI
    from specification import compare

    if compare(ping_pong):
        measure(MPI.COMM_WORLD)
