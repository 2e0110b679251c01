"""Tests of the programs of examples/training on several ranks: one verdict for all of them."""

import importlib
import importlib.util
import sys
from pathlib import Path

import pytest

# What tests on ranks share is that of tests/mpi, loaded by its path: there are several conftests.
_path = Path(__file__).parents[2] / "mpi" / "conftest.py"
_spec = importlib.util.spec_from_file_location("conftest_of_mpi", _path)
_shared = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_shared)
comm, ours, rank, size = _shared.comm, _shared.ours, _shared.rank, _shared.size
pytest_configure = _shared.pytest_configure

PROGRAMS = Path(__file__).parents[3] / "examples" / "training"
sys.path.insert(0, str(PROGRAMS))


@pytest.fixture
def few(size):
    """For planted mistakes and the like, which more ranks do not show better."""
    if size > 4:
        pytest.skip("shown on fewer ranks")


@pytest.fixture
def execute(comm, capsys):
    """Run a program on all ranks: ``execute("data_parallel", "--steps", 3)`` gives its report."""

    def run(name, *words, passes=True):
        report = importlib.import_module(name).main([str(word) for word in words], comm)
        printed = capsys.readouterr().out
        assert bool(printed) == (comm.Get_rank() == 0)  # one rank speaks for all
        wrong = [line for line in report["checks"] + report["traffic"] if not line["passed"]]
        assert report["passed"] == (not wrong)
        if passes:
            assert not wrong
        return report

    return run
