"""What the grader demands of `row_parallel_linear`."""

from mpicoll.grade.exercise import Exercise
from mpicoll.learn.specified import specified

ORDER = 403
EXERCISE = Exercise(
    "row_parallel_linear",
    "A row-parallel linear layer",
    specified(__file__, {"n": 3}, {"n": 1, "check": "counts"}, {"n": 50, "check": "counts"}),
    sizes=(4, 1, 2, 3, 5),
)
