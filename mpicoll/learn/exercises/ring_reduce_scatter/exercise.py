"""What the grader demands of `ring_reduce_scatter`."""

from mpicoll.grade.exercise import Collective, Exercise, Structure

ORDER = 207
EXERCISE = Exercise(
    "ring_reduce_scatter",
    "Ring reduce-scatter",
    Collective("reduce_scatter", ("comm", "sendbuf", "recvbuf", "op")),
    structure=Structure(like=("reduce_scatter", "ring")),
)
