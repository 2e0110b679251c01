"""What the grader demands of `binomial_bcast`."""

from mpicoll.grade.standard import STANDARD

ORDER = 202
EXERCISE = STANDARD["binomial_bcast"]
