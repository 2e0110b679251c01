"""What the grader demands of `linear_bcast`."""

from mpicoll.grade.exercise import Collective, Exercise, Structure

ORDER = 201
EXERCISE = Exercise(
    "linear_bcast",
    "Linear broadcast",
    Collective("bcast", ("comm", "buf", "root")),
    structure=Structure(like=("bcast", "linear")),
)
