"""Bugs to predict."""

from mpicoll.learn.bug import Bug

CHECKED = """            if relative + distance < size:
                comm.Send(buf, (rank + distance) % size)
"""
UNCHECKED = "            comm.Send(buf, (rank + distance) % size)\n"
BUGS = [
    Bug(
        name="no_relative",
        old="    relative = (rank - root) % size\n",
        new="    relative = rank\n",
        outcome="wrong",
        size=4,
    ),
    Bug(
        name="partner_unchecked",
        old=CHECKED,
        new=UNCHECKED,
        outcome="right",
        size=4,
    ),
    Bug(
        name="partner_unchecked_three",
        old=CHECKED,
        new=UNCHECKED,
        outcome="hang",
        size=3,
        n=400_000,
    ),
]
