"""Bugs to predict."""

from mpicoll.learn.bug import Bug

BUGS = [
    Bug(
        name="wrap_around",
        old="        to = rank + distance if rank + distance < size else MPI.PROC_NULL\n"
        "        source = rank - distance if rank >= distance else MPI.PROC_NULL\n",
        new="        to = (rank + distance) % size\n        source = (rank - distance) % size\n",
        outcome="right",
        size=4,
    ),
    Bug(
        name="off_by_one",
        old="        if rank >= distance:\n",
        new="        if rank > distance:\n",
        outcome="wrong",
        size=4,
    ),
]
