"""Rank 0 serves, rank 1 returns; nobody else has anything to do."""


def ping_pong(comm, ball, repeats):
    """Play `repeats` round trips; `ball` is changed in place on ranks 0 and 1."""
    rank = comm.Get_rank()
    for _ in range(repeats):
        if rank == 0:
            comm.Send(ball, dest=1)
            comm.Recv(ball, source=1)
        elif rank == 1:
            comm.Recv(ball, source=0)
            ball += 1
            comm.Send(ball, dest=0)
