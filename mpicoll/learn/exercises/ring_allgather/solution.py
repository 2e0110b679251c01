"""In step s, rank r passes on piece r-s and receives piece r-s-1 into its place."""


def ring_allgather(comm, sendbuf, recvbuf):
    """Fill `recvbuf` with all ranks' pieces, in rank order."""
    rank, size = comm.Get_rank(), comm.Get_size()
    left, right = (rank - 1) % size, (rank + 1) % size
    pieces = recvbuf.reshape(size, sendbuf.size)
    pieces[rank] = sendbuf.reshape(-1)
    for step in range(size - 1):
        outgoing, incoming = (rank - step) % size, (rank - step - 1) % size
        comm.Sendrecv(pieces[outgoing], right, 0, pieces[incoming], left, 0)
