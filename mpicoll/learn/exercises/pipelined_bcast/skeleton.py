"""Broadcast along a chain, segment by segment.

沿着链一段一段地广播。
"""

import time

import numpy as np


def pipelined_bcast(comm, buf, root, segments):
    """Give every rank what `buf` holds on rank `root`, passing on each segment at once."""
    raise NotImplementedError("your code here")


def measure(comm):
    """Print the time of 4 MiB for growing numbers of segments (median of 5)."""
    buf = np.zeros(2**19)
    for segments in (1, 4, 16, 64, 256):
        seconds = []
        for _ in range(5):
            comm.Barrier()
            started = time.perf_counter()
            pipelined_bcast(comm, buf, 0, segments)
            comm.Barrier()
            seconds.append(time.perf_counter() - started)
        if comm.Get_rank() == 0:
            print(f"{segments:>4} segments  {1e3 * sorted(seconds)[2]:8.2f} ms")


if __name__ == "__main__":
    from mpi4py import MPI
    from specification import compare

    if compare(pipelined_bcast):
        measure(MPI.COMM_WORLD)
