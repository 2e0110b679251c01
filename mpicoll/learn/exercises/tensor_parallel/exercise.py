"""What the grader demands of `tensor_parallel`."""

from mpicoll.grade.exercise import Exercise
from mpicoll.learn.specified import specified

ORDER = 404
EXERCISE = Exercise(
    "tensor_parallel",
    "Tensor parallelism: an MLP on several ranks",
    specified(__file__, {"n": 3}, {"n": 1, "check": "counts"}, {"n": 50, "check": "counts"}),
    sizes=(4, 1, 2, 3),
)
