"""Bugs to predict."""

from mpicoll.learn.bug import Bug

BUGS = [
    Bug(
        name="root_is_zero",
        old="        comm.Recv(buf, root)\n",
        new="        comm.Recv(buf, 0)\n",
        outcome="hang",
        size=3,
    ),
]
