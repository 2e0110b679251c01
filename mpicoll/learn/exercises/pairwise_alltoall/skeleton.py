"""All-to-all in P - 1 steps with rotating partners.

伙伴轮换的全交换，共 P - 1 步。
"""


def pairwise_alltoall(comm, sendbuf, recvbuf):
    """Place piece `rank` of rank i's `sendbuf` as piece i into `recvbuf`."""
    raise NotImplementedError("your code here")


if __name__ == "__main__":
    from specification import compare

    compare(pairwise_alltoall)
