"""What the grader demands of `scatter`."""

from mpicoll.grade.exercise import Collective, Exercise, Structure

ORDER = 203
EXERCISE = Exercise(
    "scatter",
    "Scatter",
    Collective("scatter", ("comm", "sendbuf", "recvbuf", "root")),
    structure=Structure(like=("scatter", "linear")),
)
