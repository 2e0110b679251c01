"""Two shifts, to the right and to the left, each a send and a receive at the same time."""


def repair_deadlock(comm, field):
    """Fill the ghost rows field[0] and field[-1] from the neighbours on a circle."""
    rank, size = comm.Get_rank(), comm.Get_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    comm.Sendrecv(field[-2], right, 0, field[0], left, 0)
    comm.Sendrecv(field[1], left, 1, field[-1], right, 1)
