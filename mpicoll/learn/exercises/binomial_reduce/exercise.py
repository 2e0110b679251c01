"""What the grader demands of `binomial_reduce`."""

from mpicoll.grade.exercise import Collective, Exercise, Structure

ORDER = 205
EXERCISE = Exercise(
    "binomial_reduce",
    "Binomial reduce",
    Collective("reduce", ("comm", "sendbuf", "recvbuf", "op", "root")),
    structure=Structure(like=("reduce", "binomial"), any_peers=True),
)
