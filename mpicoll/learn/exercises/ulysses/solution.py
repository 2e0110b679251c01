"""From positions to heads, attention, and back: two transposes among the ranks."""

import numpy as np


def attention(q, k, v):
    """Given: softmax(q k^T / sqrt(D)) v for each head; arrays of shape (L, heads, D)."""
    scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(q.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.einsum("hij,jhd->ihd", weights, v)


def alltoall(comm, blocks):
    """Send blocks[p] to each rank p; return what they sent here, in rank order."""
    rank, size = comm.Get_rank(), comm.Get_size()
    blocks = np.ascontiguousarray(blocks)
    arrived = blocks.copy()
    for step in range(1, size):
        to, source = (rank + step) % size, (rank - step) % size
        comm.Sendrecv(blocks[to], to, 0, arrived[source], source, 0)
    return arrived


def ulysses(comm, q, k, v, out):
    """Fill `out` with the attention at this rank's positions, for all heads."""
    size, (length, heads, depth) = comm.Get_size(), q.shape

    def by_head(x):
        blocks = x.reshape(length, size, heads // size, depth).swapaxes(0, 1)
        return alltoall(comm, blocks).reshape(size * length, heads // size, depth)

    result = attention(by_head(q), by_head(k), by_head(v))
    back = alltoall(comm, result.reshape(size, length, heads // size, depth))
    out[...] = back.swapaxes(0, 1).reshape(out.shape)
