"""Bugs to predict."""

from mpicoll.learn.bug import Bug

BUGS = [
    Bug(
        name="one_tag_two_ranks",
        old="LEFTWARD, RIGHTWARD = 1, 2\n",
        new="LEFTWARD, RIGHTWARD = 1, 1\n",
        outcome="wrong",
        size=2,
    ),
    Bug(
        name="one_tag_three_ranks",
        old="LEFTWARD, RIGHTWARD = 1, 2\n",
        new="LEFTWARD, RIGHTWARD = 1, 1\n",
        outcome="right",
        size=3,
    ),
    Bug(
        name="tags_swapped",
        old="comm.Irecv(from_left, left, RIGHTWARD)",
        new="comm.Irecv(from_left, left, LEFTWARD)",
        outcome="hang",
        size=3,
    ),
]
