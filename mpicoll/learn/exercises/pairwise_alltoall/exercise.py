"""What the grader demands of `pairwise_alltoall`."""

from mpicoll.grade.standard import STANDARD

ORDER = 211
EXERCISE = STANDARD["pairwise_alltoall"]
