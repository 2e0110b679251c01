"""What the grader demands of `bruck_alltoall`."""

from mpicoll.grade.exercise import Collective, Exercise, Structure

ORDER = 212
EXERCISE = Exercise(
    "bruck_alltoall",
    "Bruck's all-to-all",
    Collective("alltoall", ("comm", "sendbuf", "recvbuf")),
    structure=Structure(like=("alltoall", "bruck"), any_peers=True),
)
