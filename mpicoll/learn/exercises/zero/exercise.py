"""What the grader demands of `zero`."""

from mpicoll.grade.exercise import Exercise, Structure
from mpicoll.learn.specified import specified

ORDER = 407
EXERCISE = Exercise(
    "zero",
    "ZeRO: the optimizer in shards",
    specified(__file__, {"n": 3}, {"n": 1, "check": "counts"}, {"n": 50, "check": "counts"}),
    structure=Structure(messages=lambda rank, size: 2 * (size - 1)),
    sizes=(4, 1, 2, 3, 5),
)
