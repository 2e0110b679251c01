"""Allreduce on a ring: reduce-scatter, then allgather.

环形全归约：先归约散发，再全收集。
"""


def ring_allreduce(comm, sendbuf, recvbuf, op):
    """Store the reduction of all `sendbuf` in every rank's `recvbuf`."""
    raise NotImplementedError("your code here")


if __name__ == "__main__":
    from specification import compare

    compare(ring_allreduce)
