"""Gradient descent on replicas of a model.

在多个模型副本上做梯度下降。
"""

import numpy as np
from mpi4py import MPI


def allreduce(comm, vector):
    """Given: the sum of all ranks' vectors, added in rank order on every rank."""
    rank, size = comm.Get_rank(), comm.Get_size()
    parts = np.empty((size, *vector.shape), vector.dtype)
    parts[rank] = vector
    others = [peer for peer in range(size) if peer != rank]
    requests = [comm.Irecv(parts[peer], peer) for peer in others]
    requests += [comm.Isend(vector, peer) for peer in others]
    MPI.Request.Waitall(requests)
    return parts.sum(axis=0)


def data_parallel(comm, weights, inputs, targets, rate, steps):
    """Train `weights` in place on all ranks' samples."""
    raise NotImplementedError("your code here")


if __name__ == "__main__":
    from specification import compare

    compare(data_parallel)
