"""Bugs to predict."""

from mpicoll.learn.bug import Bug

BUGS = [
    Bug(
        name="source_is_destination",
        old="to, source = (rank + step) % size, (rank - step) % size",
        new="to, source = (rank + step) % size, (rank + step) % size",
        outcome="hang",
        size=3,
    ),
    Bug(
        name="source_is_destination_on_two",
        old="to, source = (rank + step) % size, (rank - step) % size",
        new="to, source = (rank + step) % size, (rank + step) % size",
        outcome="right",
        size=2,
    ),
    Bug(
        name="place_of_destination",
        old="incoming[source], source, 0)",
        new="incoming[to], source, 0)",
        outcome="wrong",
        size=3,
    ),
]
