"""Bugs to predict."""

from mpicoll.learn.bug import Bug

BUGS = [
    Bug(
        name="sum_for_mean",
        old=".mean(axis=0)",
        new=".sum(axis=0)",
        outcome="wrong",
        size=2,
    ),
    Bug(
        name="momentum_rebound",
        old="    momentum *= 0.9\n    momentum += mean\n",
        new="    momentum = 0.9 * momentum + mean\n",
        outcome="wrong",
        size=2,
    ),
]
