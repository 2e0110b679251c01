"""Reduce-scatter on a ring: each block goes around once and grows at each stop.

环形归约散发：每一块走一圈，每到一站加一次。
"""


def ring_reduce_scatter(comm, sendbuf, recvbuf, op):
    """Store block `rank` of the reduction of all `sendbuf` in `recvbuf`."""
    raise NotImplementedError("your code here")


if __name__ == "__main__":
    from specification import compare

    compare(ring_reduce_scatter)
