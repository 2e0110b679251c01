"""The ring allreduce against the lecture's table for four ranks, all rows and operand orders."""

import pytest
from reference import ALLGATHER, ROWS, SCATTER_REDUCE

from mpicoll.analysis.symbolic import trace
from mpicoll.registry import find
from mpicoll.show.text import rounds_of


@pytest.fixture(scope="module")
def rounds():
    return rounds_of(*trace(find("allreduce", "ring"), 4))


def test_the_ring_has_as_many_rounds_as_the_table(rounds):
    assert len(rounds) == len(SCATTER_REDUCE + ALLGATHER)


@pytest.mark.parametrize(("number", "rank", "text"), ROWS)
def test_row(rounds, number, rank, text):
    assert rounds[number][rank] == text
