"""What the grader demands of `ping_pong`."""

from mpicoll.grade.exercise import Exercise, Structure
from mpicoll.learn.specified import specified

ORDER = 102
EXERCISE = Exercise(
    "ping_pong",
    "Ping-pong",
    specified(__file__, {"n": 3}, {"n": 0, "check": "counts"}, {"n": 50, "check": "counts"}),
    structure=Structure(messages=lambda rank, size: 4 if rank < 2 else 0),
    sizes=(2, 3, 4),
)
