"""The root speaks to one after the other; everyone else listens once."""


def linear_bcast(comm, buf, root):
    """Give every rank what `buf` holds on rank `root`."""
    rank, size = comm.Get_rank(), comm.Get_size()
    if rank == root:
        for peer in range(size):
            if peer != root:
                comm.Send(buf, peer)
    else:
        comm.Recv(buf, root)
