"""Bugs to predict."""

from mpicoll.learn.bug import Bug

ODD = """    else:
        comm.Recv(recvbuf, left)
        comm.Send(sendbuf, right)
"""
SEND_FIRST = """    else:
        comm.Send(sendbuf, right)
        comm.Recv(recvbuf, left)
"""
BUGS = [
    Bug(
        name="all_send_first_small",
        old=ODD,
        new=SEND_FIRST,
        outcome="right",
        size=4,
    ),
    Bug(
        name="all_send_first_large",
        old=ODD,
        new=SEND_FIRST,
        outcome="hang",
        size=4,
        n=200_000,
    ),
    Bug(
        name="one_listener",
        old="    elif rank % 2 == 0:\n",
        new="    elif rank != 0:\n",
        outcome="right",
        size=4,
        n=200_000,
    ),
]
