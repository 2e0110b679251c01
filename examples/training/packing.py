"""Arrays of many shapes over collectives that know vectors: packed, sent, and unpacked again."""

import numpy as np
from mpi4py import MPI


def sum_gradients(group, gradients):
    """Sum every gradient over the ranks of `group`, in place of the old ones: one AllReduce.

    The ranks must have the same names and shapes; the order of the names is the sorted one, since
    dictionaries may have been filled in another order on another rank.
    """
    names = sorted(gradients)
    vector = np.concatenate([gradients[name].ravel() for name in names])
    group.Allreduce(MPI.IN_PLACE, vector)
    unpack(vector, {name: gradients[name] for name in names}, gradients)


def unpack(vector, shapes, into):
    """Cut a vector into arrays like those of `shapes`, in that order."""
    begin = 0
    for name, array in shapes.items():
        into[name] = vector[begin : begin + array.size].reshape(array.shape)
        begin += array.size


def alltoall(group, parts, shapes, dtype=np.float64):
    """Send ``parts[i]`` to rank i; what comes from rank i has the shape ``shapes[i]``.

    Any of them may be empty. Receivers must know the shapes.
    """
    sizes = [int(np.prod(shape)) for shape in shapes]
    sent = np.concatenate([np.asarray(part, dtype).ravel() for part in parts])
    received = np.empty(sum(sizes), dtype)
    group.Alltoallv([sent, [np.size(part) for part in parts]], [received, sizes])
    return cut(received, shapes)


def cut(vector, shapes):
    """Cut a vector into arrays of the given shapes."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    pieces = np.split(vector, ends[:-1])
    return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]
