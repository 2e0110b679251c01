"""Multiply, gather the parts around the ring, put the columns side by side."""

import numpy as np


def column_parallel_linear(comm, x, weight, y):
    """Fill `y` with x times all ranks' columns."""
    rank, size = comm.Get_rank(), comm.Get_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    own = x @ weight
    parts = np.empty((size, *own.shape), own.dtype)
    parts[rank] = own
    for step in range(size - 1):
        outgoing, incoming = (rank - step) % size, (rank - step - 1) % size
        comm.Sendrecv(parts[outgoing], right, 0, parts[incoming], left, 0)
    y[...] = np.concatenate(parts, axis=1)
