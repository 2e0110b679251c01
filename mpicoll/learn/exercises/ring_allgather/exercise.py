"""What the grader demands of `ring_allgather`."""

from mpicoll.grade.exercise import Collective, Exercise, Structure

ORDER = 206
EXERCISE = Exercise(
    "ring_allgather",
    "Ring allgather",
    Collective("allgather", ("comm", "sendbuf", "recvbuf")),
    structure=Structure(like=("allgather", "ring")),
)
