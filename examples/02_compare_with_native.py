"""The same call on mpicoll, by each of its algorithms, and on the MPI library: same numbers?

mpirun -n 4 python examples/02_compare_with_native.py
"""

import numpy as np
from mpi4py import MPI

import mpicoll
from mpicoll.registry import algorithms_of

native = MPI.COMM_WORLD
ours = mpicoll.wrap(native)
rank, size = native.Get_rank(), native.Get_size()

# Thirds cannot be stored exactly, so the sums depend on the order of the additions.
numbers = (np.arange(10007) + rank) / 3
expected = np.empty_like(numbers)
native.Allreduce(numbers, expected)

for algorithm in algorithms_of("allreduce"):
    if algorithm.unmet(size):  # some need a power of two of ranks
        continue
    result = np.full_like(numbers, np.nan)
    ours.Allreduce(numbers, result, algorithm=algorithm.name)
    np.testing.assert_allclose(result, expected, rtol=size * np.finfo(float).eps)

    every = np.empty((size, len(result)))
    ours.Allgather(result, every)
    assert (every == result).all(), "ranks must agree bit for bit"
    if rank == 0:
        differing = np.count_nonzero(result != expected)
        print(f"{algorithm.name:20} right; {differing} of {len(result)} differ in the last bits")
