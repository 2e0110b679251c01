"""Scatter: piece r of the root's array goes to rank r.

散发：根进程数组的第 r 块发给 r 号进程。
"""


def scatter(comm, sendbuf, recvbuf, root):
    """Fill `recvbuf` with this rank's piece of the root's `sendbuf`."""
    raise NotImplementedError("your code here")


if __name__ == "__main__":
    from specification import compare

    compare(scatter)
