"""Bugs to predict."""

from mpicoll.learn.bug import Bug

BUGS = [
    Bug(
        name="start_with_own",
        old="    partial = mine[(rank - 1) % size].copy()\n",
        new="    partial = mine[rank].copy()\n",
        outcome="wrong",
        size=4,
    ),
    Bug(
        name="other_direction",
        old="        comm.Sendrecv(partial, right, 0, arrived, left, 0)\n",
        new="        comm.Sendrecv(partial, left, 0, arrived, right, 0)\n",
        outcome="wrong",
        size=4,
    ),
]
