"""Attention over a sequence of which every rank has a part: AllGather, Ulysses and ring attention.

Rank r has ``shares[r]`` of the T positions (`common.share`): unequal if they must be, or empty.
``forward(group, shares, q, k, v)`` takes its queries, keys and values (B, its positions, H, K) and
gives its outputs and what ``backward(group, saved, dy)`` needs for the gradients of q, k and v.
"""

import numpy as np
from common import share
from exchange import all_gather, reduce_scatter
from model import attention, attention_backward
from mpi4py import MPI
from packing import alltoall


def lengths(shares):
    return [part.stop - part.start for part in shares]


# ------------------------------------------------------------------------------------ AllGather


def allgather_forward(group, shares, q, k, v):
    """Gather all keys and values, attend with one's own queries. Memory: the whole k and v."""
    k, v = all_gather(group, np.stack([k, v]), shares[-1].stop, axis=2)
    y, saved = attention(q, k, v, start=shares[group.Get_rank()].start)
    return y, saved


def allgather_backward(group, saved, dy):
    """Every rank has gradients of all keys and values: sum them, and keep one's own part."""
    dq, *whole = attention_backward(saved, dy)
    dk, dv = reduce_scatter(group, np.stack(whole), axis=2)
    return dq, dk, dv


# -------------------------------------------------------------------------------------- Ulysses


def to_heads(group, shares, x):
    """Change (n, B, own positions, H, K) into (n, B, T, own heads, K): an AllToAll."""
    heads = [share(x.shape[3], group.Get_size(), rank) for rank in range(group.Get_size())]
    mine = heads[group.Get_rank()]
    shapes = [(*x.shape[:2], n, mine.stop - mine.start, x.shape[4]) for n in lengths(shares)]
    return np.concatenate(alltoall(group, [x[..., h, :] for h in heads], shapes), axis=2)


def to_positions(group, shares, x, number):
    """Change (n, B, T, own heads, K) back into (n, B, own positions, H, K); H is `number`."""
    size, mine = group.Get_size(), lengths(shares)[group.Get_rank()]
    heads = lengths([share(number, size, rank) for rank in range(size)])
    shapes = [(*x.shape[:2], mine, n, x.shape[4]) for n in heads]
    return np.concatenate(alltoall(group, [x[:, :, p] for p in shares], shapes), axis=3)


def ulysses_forward(group, shares, q, k, v):
    """Attend in the whole sequence with some heads: a transpose before, the reverse after."""
    whole = to_heads(group, shares, np.stack([q, k, v]))
    y, saved = attention(*whole)
    (y,) = to_positions(group, shares, y[None], q.shape[2])
    return y, (shares, saved, q.shape[2])


def ulysses_backward(group, saved, dy):
    """The backward of a transpose is the reverse transpose: again one AllToAll each way."""
    shares, inner, number = saved
    (dy,) = to_heads(group, shares, dy[None])
    return to_positions(group, shares, np.stack(attention_backward(inner, dy)), number)


# ----------------------------------------------------------------------------------------- ring


def around(group, outgoing, shape, tag):
    """Start to send to the right and to receive from the left; give a function that waits."""
    rank, size = group.Get_rank(), group.Get_size()
    incoming = np.empty(shape)
    requests = [
        group.Irecv(incoming, (rank - 1) % size, tag),
        group.Isend(np.ascontiguousarray(outgoing), (rank + 1) % size, tag),
    ]

    def finish():
        MPI.Request.Waitall(requests)
        return incoming

    return finish


def seen(shares, rank, owner):
    """Tell whether queries of `rank` see keys of `owner`: later ones are skipped (causal)."""
    return owner <= rank and shares[owner].stop > shares[owner].start


def scores_of(q, k, masked):
    """Scale products of (B, H, T, K) queries and keys; `masked`: both are the same positions."""
    scores = q @ k.swapaxes(2, 3) * q.shape[-1] ** -0.5
    if masked:
        scores[..., np.triu(np.ones(scores.shape[-2:], bool), 1)] = -np.inf
    return scores


def ring_forward(group, shares, q, k, v):
    """Pass keys and values around the ring, and never hold more than two parts of them.

    The softmax is made on line: with each part the largest score so far may grow; then the sums
    so far shrink by the exponential of the difference. While one part is computed with, the next
    is on its way.
    """
    rank, size = group.Get_rank(), group.Get_size()
    q, k, v = (a.swapaxes(1, 2) for a in (q, k, v))
    part = np.stack([k, v])
    largest = np.full((*q.shape[:3], 1), -np.inf)
    total, y = np.zeros_like(largest), np.zeros_like(q)
    for hop in range(size):
        owner = (rank - hop) % size
        if hop < size - 1:
            n = lengths(shares)[(owner - 1) % size]
            finish = around(group, part, (*part.shape[:3], n, part.shape[4]), hop)
        if seen(shares, rank, owner):
            scores = scores_of(q, part[0], owner == rank)
            before, largest = largest, np.maximum(largest, scores.max(-1, keepdims=True))
            weights = np.exp(scores - largest)
            shrink = np.exp(before - largest)
            total = total * shrink + weights.sum(-1, keepdims=True)
            y = y * shrink + weights @ part[1]
        if hop < size - 1:
            part = finish()
    y /= total
    logarithm = largest + np.log(total)
    return y.swapaxes(1, 2), (shares, q, k, v, y, logarithm)


def ring_backward(group, saved, dy):
    """Pass keys and values around again, and with them the sums of their gradients.

    The weights are computed again from the kept logarithms of the sums. Gradients make one hop
    more than keys and values: the last one brings them home.
    """
    shares, q, k, v, y, logarithm = saved
    rank, size = group.Get_rank(), group.Get_size()
    dy = dy.swapaxes(1, 2)
    inner = (dy * y).sum(-1, keepdims=True)
    scale = q.shape[-1] ** -0.5
    part, gradients = np.stack([k, v]), np.zeros((2, *k.shape))
    dq = np.zeros_like(q)
    for hop in range(size):
        owner = (rank - hop) % size
        n = lengths(shares)[(owner - 1) % size]
        shape = (*part.shape[:3], n, part.shape[4])
        if hop < size - 1:
            finish = around(group, part, shape, 2 * hop)
        if seen(shares, rank, owner):
            weights = np.exp(scores_of(q, part[0], owner == rank) - logarithm)
            dscores = weights * (dy @ part[1].swapaxes(2, 3) - inner) * scale
            dq += dscores @ part[0]
            gradients += np.stack([dscores.swapaxes(2, 3) @ q, weights.swapaxes(2, 3) @ dy])
        if size > 1:
            gradients = around(group, gradients, shape, 2 * hop + 1)()
        if hop < size - 1:
            part = finish()
    return tuple(a.swapaxes(1, 2) for a in (dq, *gradients))


METHODS = {
    "allgather": (allgather_forward, allgather_backward),
    "ulysses": (ulysses_forward, ulysses_backward),
    "ring": (ring_forward, ring_backward),
}
