"""All-to-all in log2 P messages.

用 log2 P 条消息完成的全交换。
"""


def bruck_alltoall(comm, sendbuf, recvbuf):
    """Place piece `rank` of rank i's `sendbuf` as piece i into `recvbuf`."""
    raise NotImplementedError("your code here")


if __name__ == "__main__":
    from specification import compare

    compare(bruck_alltoall)
