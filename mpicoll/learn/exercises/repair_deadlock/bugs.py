"""Bugs to predict."""

from mpicoll.learn.bug import Bug

BUGS = [
    Bug(
        name="tags_crossed",
        old="    comm.Sendrecv(field[1], left, 1, field[-1], right, 1)\n",
        new="    comm.Sendrecv(field[1], left, 1, field[-1], right, 0)\n",
        outcome="hang",
        size=3,
    ),
    Bug(
        name="wrong_row",
        old="field[-2], right",
        new="field[-1], right",
        outcome="wrong",
        size=3,
    ),
]
