"""What the grader demands of `gather`."""

from mpicoll.grade.exercise import Collective, Exercise, Structure

ORDER = 204
EXERCISE = Exercise(
    "gather",
    "Gather",
    Collective("gather", ("comm", "sendbuf", "recvbuf", "root")),
    structure=Structure(like=("gather", "linear")),
)
