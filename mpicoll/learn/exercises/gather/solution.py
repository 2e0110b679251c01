"""Every message is received straight into its place."""


def gather(comm, sendbuf, recvbuf, root):
    """Fill the root's `recvbuf` with all pieces, in rank order."""
    rank, size = comm.Get_rank(), comm.Get_size()
    if rank != root:
        comm.Send(sendbuf, root)
        return
    pieces = recvbuf.reshape(size, sendbuf.size)
    for peer in range(size):
        if peer != root:
            comm.Recv(pieces[peer], peer)
    pieces[root] = sendbuf.reshape(-1)
