"""The root cuts its array into pieces, and keeps one of them."""


def scatter(comm, sendbuf, recvbuf, root):
    """Fill `recvbuf` with this rank's piece of the root's `sendbuf`."""
    rank, size = comm.Get_rank(), comm.Get_size()
    if rank != root:
        comm.Recv(recvbuf, root)
        return
    pieces = sendbuf.reshape(size, recvbuf.size)
    for peer in range(size):
        if peer != root:
            comm.Send(pieces[peer], peer)
    recvbuf[...] = pieces[root].reshape(recvbuf.shape)
