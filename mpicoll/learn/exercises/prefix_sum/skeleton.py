"""Inclusive prefix reduction (MPI's Scan) in log2 P rounds.

log2 P 轮的前缀归约（MPI 的 Scan）。
"""


def prefix_sum(comm, sendbuf, recvbuf, op):
    """Store the reduction over ranks 0 .. rank, in rank order, in `recvbuf`."""
    raise NotImplementedError("your code here")


if __name__ == "__main__":
    from specification import compare

    compare(prefix_sum)
