"""What the grader demands of `safe_exchange`."""

from mpicoll.grade.exercise import Exercise, Structure
from mpicoll.learn.specified import specified

ORDER = 103
EXERCISE = Exercise(
    "safe_exchange",
    "A safe exchange",
    specified(__file__, {"n": 3}, {"n": 0, "check": "counts"}, {"n": 50, "check": "counts"}),
    structure=Structure(rounds=lambda size: 2, peers=lambda rank, size: {(rank + 1) % size}),
    sizes=(4, 1, 2, 3, 5),
)
