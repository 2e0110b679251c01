"""In step s everyone sends to the rank s further on and receives from the one s before."""


def pairwise_alltoall(comm, sendbuf, recvbuf):
    """Place piece `rank` of rank i's `sendbuf` as piece i into `recvbuf`."""
    rank, size = comm.Get_rank(), comm.Get_size()
    outgoing, incoming = sendbuf.reshape(size, -1), recvbuf.reshape(size, -1)
    incoming[rank] = outgoing[rank]
    for step in range(1, size):
        to, source = (rank + step) % size, (rank - step) % size
        comm.Sendrecv(outgoing[to], to, 0, incoming[source], source, 0)
