"""What the grader demands of `data_parallel`."""

from mpicoll.grade.exercise import Exercise
from mpicoll.learn.specified import specified

ORDER = 401
EXERCISE = Exercise(
    "data_parallel",
    "Data-parallel training",
    specified(__file__, {"n": 3}, {"n": 20, "steps": 5, "check": "counts"}),
    sizes=(4, 1, 2, 3, 5),
)
