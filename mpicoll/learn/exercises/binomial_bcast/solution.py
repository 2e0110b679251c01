"""The holders are 0 .. distance-1; each passes the data on to its partner `distance` further on."""


def binomial_bcast(comm, buf, root):
    """Give every rank what `buf` holds on rank `root`, in ceil(log2 P) rounds."""
    rank, size = comm.Get_rank(), comm.Get_size()
    relative = (rank - root) % size
    distance = 1
    while distance < size:
        if relative < distance:
            if relative + distance < size:
                comm.Send(buf, (rank + distance) % size)
        elif relative < 2 * distance:
            comm.Recv(buf, (rank - distance) % size)
        distance *= 2
