"""What the grader demands of `sequence_parallel`."""

from mpicoll.grade.exercise import Exercise, Structure
from mpicoll.learn.specified import specified

ORDER = 405
EXERCISE = Exercise(
    "sequence_parallel",
    "Sequence parallelism",
    specified(__file__, {"n": 3}, {"n": 1, "check": "counts"}, {"n": 50, "check": "counts"}),
    structure=Structure(messages=lambda rank, size: 2 * (size - 1)),
    sizes=(4, 1, 2, 3),
)
