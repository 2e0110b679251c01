"""Both neighbours at the same time, by non-blocking calls.

用非阻塞调用同时与两个邻居交换。
"""

from mpi4py import MPI  # noqa: F401  (MPI.Request.Waitall)


def nonblocking_exchange(comm, to_left, to_right, from_left, from_right):
    """Send to both neighbours on the circle and receive from both, all at once."""
    raise NotImplementedError("your code here")


if __name__ == "__main__":
    from specification import compare

    compare(nonblocking_exchange)
