"""Bugs to predict."""

from mpicoll.learn.bug import Bug

BUGS = [
    Bug(
        name="plus_instead_of_flip",
        old="        partner = rank ^ distance\n",
        new="        partner = (rank + distance) % size\n",
        outcome="hang",
        size=4,
    ),
    Bug(
        name="same_side",
        old="op(arrived, total) if partner < rank else op(total, arrived)",
        new="op(total, arrived)",
        outcome="right",
        size=4,
    ),
    Bug(
        name="three_ranks",
        old="    distance = 1\n",
        new="    distance = 1  # nothing changed, but three ranks\n",
        outcome="error",
        size=3,
    ),
]
