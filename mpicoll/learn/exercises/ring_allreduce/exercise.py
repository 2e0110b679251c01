"""What the grader demands of `ring_allreduce`."""

from mpicoll.grade.standard import STANDARD

ORDER = 208
EXERCISE = STANDARD["ring_allreduce"]
