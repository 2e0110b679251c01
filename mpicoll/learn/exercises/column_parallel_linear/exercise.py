"""What the grader demands of `column_parallel_linear`."""

from mpicoll.grade.exercise import Exercise, Structure
from mpicoll.learn.specified import specified

ORDER = 402
EXERCISE = Exercise(
    "column_parallel_linear",
    "A column-parallel linear layer",
    specified(__file__, {"n": 3}, {"n": 1, "check": "counts"}, {"n": 50, "check": "counts"}),
    structure=Structure(messages=lambda rank, size: size - 1),
    sizes=(4, 1, 2, 3, 5),
)
