"""What the grader demands of `cost_model`."""

from mpicoll.grade.exercise import Exercise
from mpicoll.learn.specified import specified

ORDER = 302
EXERCISE = Exercise(
    "cost_model",
    "A cost model, and a plot",
    specified(
        __file__,
        *({"n": 0, "ranks": ranks} for ranks in (1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33, 100)),
        comm=False,
    ),
    sizes=(2,),
)
