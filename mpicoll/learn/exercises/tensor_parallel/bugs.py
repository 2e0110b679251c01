"""Bugs to predict."""

from mpicoll.learn.bug import Bug

BUGS = [
    Bug(
        name="no_sum_backward",
        old="    dx[...] = allreduce(comm, dhidden @ first.T)\n",
        new="    dx[...] = dhidden @ first.T\n",
        outcome="wrong",
        size=2,
    ),
    Bug(
        name="sum_twice",
        old="    dhidden = (dy @ second.T) * (hidden > 0)\n",
        new="    dhidden = (allreduce(comm, dy) @ second.T) * (hidden > 0)\n",
        outcome="wrong",
        size=2,
    ),
]
