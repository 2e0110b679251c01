"""What the grader demands of `pipeline`."""

from mpicoll.grade.exercise import Exercise, Structure
from mpicoll.learn.specified import specified

ORDER = 406
EXERCISE = Exercise(
    "pipeline",
    "A pipeline of stages",
    specified(__file__, {"n": 3}, {"n": 1, "check": "counts"}, {"n": 50, "check": "counts"}),
    structure=Structure(
        messages=lambda rank, size: 4 if rank < size - 1 else 0, peers=lambda rank, size: {rank + 1}
    ),
    sizes=(4, 1, 2, 3, 5),
)
