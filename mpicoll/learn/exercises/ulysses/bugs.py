"""Bugs to predict."""

from mpicoll.learn.bug import Bug

BUGS = [
    Bug(
        name="not_turned_back",
        old="    out[...] = back.swapaxes(0, 1).reshape(out.shape)\n",
        new="    out[...] = back.reshape(out.shape)\n",
        outcome="wrong",
        size=2,
    ),
]
