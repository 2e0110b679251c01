"""What the grader demands of `pipelined_bcast`."""

from mpicoll.grade.exercise import Exercise, Structure
from mpicoll.learn.specified import specified

ORDER = 301
EXERCISE = Exercise(
    "pipelined_bcast",
    "Pipelined broadcast and the size of a segment",
    specified(__file__, {"n": 3}, {"n": 0, "check": "counts"}, {"n": 50, "check": "counts"}),
    structure=Structure(
        messages=lambda rank, size: 0 if (rank + 1) % size == size // 2 else 3,
        peers=lambda rank, size: {(rank + 1) % size},
    ),
    sizes=(4, 1, 2, 3, 5, 8),
)
