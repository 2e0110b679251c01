"""Collectives on arrays of any shape, cut into shares along any axis (see `common.share`).

Each takes and returns arrays; shares need not be equal, and may be empty. On the wire, data lies
with the cut axis first, so that the share of every rank is one piece of memory.
"""

from math import prod

import numpy as np
from common import share

__all__ = ["all_gather", "all_reduce", "counts", "mine", "reduce_scatter"]


def counts(length, P, each=1):
    """Numbers in every rank's share of `length` items, of `each` numbers."""
    slices = [share(length, P, rank) for rank in range(P)]
    return [(cut.stop - cut.start) * each for cut in slices]


def mine(group, x, axis=0):
    """This rank's share of an array that it has whole; nothing is sent."""
    cut = share(x.shape[axis], group.size, group.rank)
    return x[(slice(None),) * (axis % x.ndim) + (cut,)]


def all_reduce(group, x):
    """The sum of all ranks' arrays, on all of them."""
    total = np.empty(x.shape, x.dtype)
    group.Allreduce(np.ascontiguousarray(x), total)
    return total


def all_gather(group, x, length, axis=0):
    """The array of `length` items along `axis` of which every rank has its share."""
    first = np.ascontiguousarray(np.moveaxis(x, axis, 0))
    whole = np.empty((length, *first.shape[1:]), x.dtype)
    group.Allgatherv(first, [whole, counts(length, group.size, prod(first.shape[1:]))])
    return np.moveaxis(whole, 0, axis)


def reduce_scatter(group, x, axis=0):
    """This rank's share, along `axis`, of the sum of all ranks' arrays."""
    first = np.ascontiguousarray(np.moveaxis(x, axis, 0))
    cut = share(len(first), group.size, group.rank)
    total = np.empty((cut.stop - cut.start, *first.shape[1:]), x.dtype)
    group.Reduce_scatter(first, total, counts(len(first), group.size, prod(first.shape[1:])))
    return np.moveaxis(total, 0, axis)
