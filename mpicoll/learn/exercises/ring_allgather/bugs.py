"""Bugs to predict."""

from mpicoll.learn.bug import Bug

BUGS = [
    Bug(
        name="one_step_more",
        old="    for step in range(size - 1):\n",
        new="    for step in range(size):\n",
        outcome="right",
        size=4,
    ),
    Bug(
        name="one_step_less",
        old="    for step in range(size - 1):\n",
        new="    for step in range(size - 2):\n",
        outcome="wrong",
        size=4,
    ),
    Bug(
        name="always_own_piece",
        old="outgoing, incoming = (rank - step) % size,",
        new="outgoing, incoming = rank,",
        outcome="wrong",
        size=4,
    ),
]
