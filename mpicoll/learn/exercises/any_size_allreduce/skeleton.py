"""Recursive doubling for any number of ranks.

适用于任意进程数的递归倍增。
"""


def any_size_allreduce(comm, sendbuf, recvbuf, op):
    """Store the reduction of all `sendbuf`, in rank order, in every rank's `recvbuf`."""
    raise NotImplementedError("your code here")


if __name__ == "__main__":
    from specification import compare

    compare(any_size_allreduce)
