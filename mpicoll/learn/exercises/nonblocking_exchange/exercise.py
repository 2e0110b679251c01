"""What the grader demands of `nonblocking_exchange`."""

from mpicoll.grade.exercise import Exercise, Structure
from mpicoll.learn.specified import specified

ORDER = 105
EXERCISE = Exercise(
    "nonblocking_exchange",
    "Non-blocking exchange",
    specified(__file__, {"n": 3}, {"n": 0, "check": "counts"}, {"n": 50, "check": "counts"}),
    structure=Structure(
        messages=lambda rank, size: 2 * (size > 1),
        peers=lambda rank, size: {(rank + 1) % size, (rank - 1) % size},
    ),
    sizes=(4, 1, 2, 3),
    forbidden=("Send", "Ssend", "Recv", "Sendrecv", "send", "recv", "sendrecv"),
)
