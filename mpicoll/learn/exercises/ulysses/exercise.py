"""What the grader demands of `ulysses`."""

from mpicoll.grade.exercise import Exercise, Structure
from mpicoll.learn.specified import specified

ORDER = 409
EXERCISE = Exercise(
    "ulysses",
    "Ulysses: attention over a long sequence",
    specified(__file__, {"n": 2}, {"n": 1, "check": "counts"}, {"n": 8, "check": "counts"}),
    structure=Structure(messages=lambda rank, size: 4 * (size - 1)),
    sizes=(4, 1, 2, 3),
)
