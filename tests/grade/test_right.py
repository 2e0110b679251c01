"""Right programs pass, in whatever style they are written."""

import pytest
from graded import graded
from programs import PAIRS, RIGHT, TREE

FAST = {"sendrecv", "odd_even", "object_requests", "out_of_place"}


def styles():
    for name in RIGHT:
        yield pytest.param(name, marks=[] if name in FAST else pytest.mark.big)


@pytest.mark.parametrize("style", list(styles()))
def test_a_right_program_passes(style):
    report, text = graded(RIGHT[style], sizes=(4, 3))
    assert report.passed, text


@pytest.mark.parametrize(
    ("exercise", "source"), [("binomial_bcast", TREE), ("pairwise_alltoall", PAIRS)]
)
def test_other_exercises_pass_on_all_sizes(exercise, source):
    report, text = graded(source, exercise, sizes=(4, 2, 3, 5))
    assert report.passed, text
