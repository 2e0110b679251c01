"""One step of momentum SGD with the optimizer's state in shards.

优化器状态分片的一步动量 SGD。
"""

import numpy as np
from mpi4py import MPI


def alltoall(comm, blocks):
    """Given: send blocks[p] to each rank p; return what they sent here, in rank order."""
    rank, size = comm.Get_rank(), comm.Get_size()
    blocks = np.ascontiguousarray(blocks)
    arrived = np.empty_like(blocks)
    arrived[rank] = blocks[rank]
    others = [peer for peer in range(size) if peer != rank]
    requests = [comm.Irecv(arrived[peer], peer) for peer in others]
    requests += [comm.Isend(blocks[peer], peer) for peer in others]
    MPI.Request.Waitall(requests)
    return arrived


def zero(comm, parameters, gradient, momentum, rate):
    """Update `parameters` and this rank's shard of `momentum` in place."""
    raise NotImplementedError("your code here")


if __name__ == "__main__":
    from specification import compare

    compare(zero)
