"""What the grader demands of `recursive_doubling_allreduce`."""

from mpicoll.grade.exercise import Collective, Exercise, Structure

ORDER = 209
EXERCISE = Exercise(
    "recursive_doubling_allreduce",
    "Recursive doubling",
    Collective(
        "allreduce",
        ("comm", "sendbuf", "recvbuf", "op"),
        ops=("SUM", "PROD", "MAX", "MIN", "gcd", "affine"),
    ),
    structure=Structure(like=("allreduce", "recursive_doubling")),
    sizes=(4, 1, 2, 8),
)
