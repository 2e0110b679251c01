"""Counts, tokens, results: three exchanges of one kind."""

import numpy as np
from mpi4py import MPI


def exchange(comm, outgoing, lengths):
    """Send outgoing[p] to each rank p; return what comes, `lengths[p]` rows from rank p."""
    shape, dtype = outgoing[0].shape[1:], outgoing[0].dtype
    incoming = [np.empty((length, *shape), dtype) for length in lengths]
    requests = [comm.Irecv(rows, peer) for peer, rows in enumerate(incoming)]
    requests += [comm.Isend(rows, peer) for peer, rows in enumerate(outgoing)]
    MPI.Request.Waitall(requests)
    return incoming


def moe_dispatch(comm, tokens, choice, weight, output):
    """Fill output[i] with tokens[i] transformed by the expert on rank choice[i]."""
    size = comm.Get_size()
    places = [np.flatnonzero(choice == expert) for expert in range(size)]
    counts = [len(p) for p in places]
    coming = exchange(comm, [np.array([count]) for count in counts], [1] * size)
    arrived = exchange(comm, [tokens[p] for p in places], [int(count[0]) for count in coming])
    results = exchange(comm, [rows @ weight for rows in arrived], counts)
    for place, rows in zip(places, results, strict=True):
        output[place] = rows
