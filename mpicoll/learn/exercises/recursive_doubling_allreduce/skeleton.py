"""Allreduce by recursive doubling, for a power of two of ranks.

递归倍增全归约，进程数为 2 的幂。
"""


def recursive_doubling_allreduce(comm, sendbuf, recvbuf, op):
    """Store the reduction of all `sendbuf`, in rank order, in every rank's `recvbuf`."""
    raise NotImplementedError("your code here")


if __name__ == "__main__":
    from specification import compare

    compare(recursive_doubling_allreduce)
