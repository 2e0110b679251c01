"""What the grader demands of `repair_deadlock`."""

from mpicoll.grade.exercise import Exercise, Structure
from mpicoll.learn.specified import specified

ORDER = 104
EXERCISE = Exercise(
    "repair_deadlock",
    "Repair a deadlock",
    specified(__file__, {"n": 3}, {"n": 1, "check": "counts"}, {"n": 50, "check": "counts"}),
    structure=Structure(peers=lambda rank, size: {(rank + 1) % size, (rank - 1) % size}),
    sizes=(3, 1, 2, 4),
)
