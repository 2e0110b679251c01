"""Broadcast along a binomial tree: whoever has the data passes them on.

沿二项树的广播：谁有数据，谁就往下传。
"""


def binomial_bcast(comm, buf, root):
    """Give every rank what `buf` holds on rank `root`, in ceil(log2 P) rounds."""
    raise NotImplementedError("your code here")


if __name__ == "__main__":
    from specification import compare

    compare(binomial_bcast)
