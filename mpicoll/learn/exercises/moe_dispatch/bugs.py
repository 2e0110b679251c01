"""Bugs to predict."""

from mpicoll.learn.bug import Bug

BUGS = [
    Bug(
        name="guess_the_lengths",
        old="[int(count[0]) for count in coming])\n",
        new="counts)\n",
        outcome="error",
        size=4,
    ),
    Bug(
        name="not_back_in_place",
        old="""    for place, rows in zip(places, results, strict=True):
        output[place] = rows
""",
        new="    output[:] = np.concatenate(results)\n",
        outcome="wrong",
        size=4,
    ),
]
