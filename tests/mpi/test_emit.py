"""Programs that are written out run on their own, and check their results themselves."""

import pytest

from mpicoll.registry import algorithms_of, collectives
from mpicoll.show.emit import program

EVERY = [each for name in collectives() for each in algorithms_of(name)]


@pytest.mark.parametrize("algorithm", EVERY, ids=str)
def test_program(algorithm, size, capsys):
    if not set(algorithm.unmet(size)) <= {"commutative"}:
        pytest.skip(f"{algorithm} does not serve {size} ranks")
    text = program(algorithm, size, root=size - 1 if algorithm.spec.rooted else 0)
    exec(compile(text, f"<{algorithm}>", "exec"), {})
    assert "as it should be" in capsys.readouterr().out
