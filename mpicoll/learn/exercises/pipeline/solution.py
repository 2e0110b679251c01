"""Take a micro-batch, compute, start to pass it on, take the next."""

import numpy as np
from mpi4py import MPI


def pipeline(comm, weight, inputs, outputs):
    """Fill the last rank's `outputs` with rank 0's `inputs` after all layers."""
    rank, last = comm.Get_rank(), comm.Get_size() - 1
    requests = []
    for number, batch in enumerate(inputs):
        if rank > 0:
            batch = np.empty_like(batch)
            comm.Recv(batch, rank - 1)
        result = np.tanh(batch @ weight)
        if rank < last:
            requests.append(comm.Isend(result, rank + 1))
        else:
            outputs[number] = result
    MPI.Request.Waitall(requests)
