"""Start everything, wait for everything; a tag for each direction of travel."""

from mpi4py import MPI

LEFTWARD, RIGHTWARD = 1, 2


def nonblocking_exchange(comm, to_left, to_right, from_left, from_right):
    """Send to both neighbours on the circle and receive from both, all at once."""
    rank, size = comm.Get_rank(), comm.Get_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    requests = [
        comm.Irecv(from_left, left, RIGHTWARD),
        comm.Irecv(from_right, right, LEFTWARD),
        comm.Isend(to_left, left, LEFTWARD),
        comm.Isend(to_right, right, RIGHTWARD),
    ]
    MPI.Request.Waitall(requests)
