"""The ring allreduce written by hand, in plain mpi4py: what `mpicoll`'s plan does, step for step.

mpirun -n 4 python examples/03_ring_by_hand.py

A test of the project records the messages of `ring_allreduce` and finds exactly those of the plan:
same peers, same bytes, same order. Exercise: change one line, say what will happen, and run it.
"""

import numpy as np
from mpi4py import MPI


def ring_allreduce(comm: MPI.Intracomm, mine: np.ndarray, total: np.ndarray) -> None:
    """Store the sum over all ranks of the vectors `mine` in `total`."""
    rank, size = comm.Get_rank(), comm.Get_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    source = np.array_split(mine, size)  # views; the first blocks are longer by one if need be
    result = np.array_split(total, size)
    if size == 1:
        total[:] = mine
        return

    # Each block goes around once, and every rank on its way adds its own to it.
    so_far = source[(rank - 1) % size]
    for step in range(1, size):
        incoming = (rank - step - 1) % size
        arrived = np.empty_like(source[incoming])
        comm.Sendrecv(so_far, right, 0, arrived, left, 0)
        so_far = source[incoming] + arrived
    result[rank][:] = so_far  # rank r ends with block r complete

    # Each complete block goes around once more, and every rank on its way keeps a copy.
    for step in range(size - 1):
        outgoing, incoming = (rank - step) % size, (rank - step - 1) % size
        comm.Sendrecv(result[outgoing], right, 0, result[incoming], left, 0)


def main() -> None:
    """Add vectors whose length the number of ranks does not divide."""
    comm = MPI.COMM_WORLD
    rank, size = comm.Get_rank(), comm.Get_size()
    mine = np.arange(4.0 * size + 3) * (rank + 1)
    total = np.empty_like(mine)
    ring_allreduce(comm, mine, total)
    assert np.array_equal(total, np.arange(4.0 * size + 3) * (size * (size + 1) // 2))
    if rank == 0:
        print(f"ring allreduce on {size} ranks: {2 * (size - 1)} messages sent by each")


if __name__ == "__main__":
    main()
