"""Reduce along a binomial tree.

沿二项树归约。
"""


def binomial_reduce(comm, sendbuf, recvbuf, op, root):
    """Store the reduction of all `sendbuf` in the root's `recvbuf`."""
    raise NotImplementedError("your code here")


if __name__ == "__main__":
    from specification import compare

    compare(binomial_reduce)
