"""What the grader demands of `moe_dispatch`."""

from mpicoll.grade.exercise import Exercise
from mpicoll.learn.specified import specified

ORDER = 408
EXERCISE = Exercise(
    "moe_dispatch",
    "Mixture of experts: dispatch and combine",
    specified(
        __file__,
        {"n": 3},
        {"n": 0, "check": "counts"},
        {"n": 20, "check": "counts"},
        {"n": 4, "favourite": True, "check": "counts"},
    ),
    sizes=(4, 1, 2, 3, 5),
)
