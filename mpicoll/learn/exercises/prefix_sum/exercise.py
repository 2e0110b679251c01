"""What the grader demands of `prefix_sum`."""

from mpicoll.grade.exercise import Collective, Exercise, Structure

ORDER = 213
EXERCISE = Exercise(
    "prefix_sum",
    "Prefix sum",
    Collective(
        "scan",
        ("comm", "sendbuf", "recvbuf", "op"),
        ops=("SUM", "PROD", "MAX", "MIN", "gcd", "affine"),
    ),
    structure=Structure(like=("scan", "recursive_doubling")),
)
