"""Gather: the root puts everyone's piece in its place.

收集：根进程把每个进程的块放到各自的位置。
"""


def gather(comm, sendbuf, recvbuf, root):
    """Fill the root's `recvbuf` with all pieces, in rank order."""
    raise NotImplementedError("your code here")


if __name__ == "__main__":
    from specification import compare

    compare(gather)
