"""What the grader demands of `any_size_allreduce`."""

from mpicoll.grade.exercise import Collective, Exercise, Structure

ORDER = 210
EXERCISE = Exercise(
    "any_size_allreduce",
    "Not a power of two",
    Collective(
        "allreduce",
        ("comm", "sendbuf", "recvbuf", "op"),
        ops=("SUM", "PROD", "MAX", "MIN", "gcd", "affine"),
    ),
    structure=Structure(like=("allreduce", "recursive_doubling"), any_peers=True),
    sizes=(6, 1, 2, 3, 4, 5, 7, 8),
)
