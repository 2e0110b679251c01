"""Every mistake is named: a part here, all of them with ``make grade-table``."""

import pytest
from graded import graded, said_of
from planted import OTHERS, PLANTED

#: One of each kind of evidence.
FAST = {11, 12, 17, 25, 26, 34, 38, 47, 48, 52, 54}


def plants():
    for plant in (*PLANTED, *OTHERS):
        marks = [] if plant.number in FAST else [pytest.mark.big]
        yield pytest.param(plant, marks=marks, id=str(plant))


@pytest.mark.parametrize("plant", list(plants()))
def test_the_mistake_is_named(plant):
    report, text = graded(plant.source, plant.exercise, speed=plant.check == "speed")
    assert said_of(plant, report, text) == [], text
