"""What `mpicoll doctor` runs on two ranks: a message each way, and a collective."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

import mpicoll
from mpicoll.launch.command import check_world


def main() -> None:
    """Print the sum of both ranks' numbers on rank 0."""
    world = MPI.COMM_WORLD
    check_world(world.Get_size())
    own, other = np.array([world.Get_rank() + 1.0]), np.zeros(1)
    peer = 1 - world.Get_rank()
    world.Sendrecv(own, peer, 0, other, peer)
    total = np.zeros(1)
    mpicoll.Intracomm(world).Allreduce(own, total)
    if world.Get_rank() == 0:
        print("two ranks:", total[0] if (own + other == total).all() else "wrong")


if __name__ == "__main__":
    main()
