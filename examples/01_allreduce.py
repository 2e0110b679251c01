"""Every rank brings a gradient, every rank gets the mean: the step of data-parallel training.

mpirun -n 4 python examples/01_allreduce.py
"""

import numpy as np
from mpi4py import MPI

import mpicoll

comm = mpicoll.Intracomm(MPI.COMM_WORLD)  # mpi4py's interface; the collectives are mpicoll's
rank, size = comm.Get_rank(), comm.Get_size()

gradient = np.full(1000, rank + 1.0)
mean = np.empty_like(gradient)
comm.Allreduce(gradient, mean, op=MPI.SUM)  # mpicoll chooses an algorithm, by size
mean /= size

again = np.empty_like(gradient)
comm.Allreduce(gradient, again, op=MPI.SUM, algorithm="ring")  # or you name one
again /= size

assert np.array_equal(mean, again)
assert (mean == (size + 1) / 2).all()
if rank == 0:
    print(f"mean over {size} ranks: {mean[0]}")
