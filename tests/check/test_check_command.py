"""The command line of `mpicoll check`: what is chosen, what is refused, what comes out."""

import json
import subprocess
import sys

import pytest

from mpicoll.__main__ import main
from mpicoll.check.names import CALLS, chosen
from mpicoll.launch.supervise import run
from mpicoll.registry import algorithms_of, collectives


def test_names_cover_every_collective():
    assert set(CALLS.values()) == set(collectives())
    assert chosen([], None) == list(CALLS)
    assert chosen(["scatter"], None) == ["Scatter", "Scatterv"]
    assert chosen(["Scatterv", "Barrier"], None) == ["Barrier", "Scatterv"]
    assert {CALLS[call] for call in chosen([], "ring")} >= {"allgather", "allreduce"}


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["nonsense"], "unknown collective 'nonsense': expected one of allgather, allreduce"),
        (["bcast", "--algorithm", "odd"], "bcast has no algorithm 'odd'; it has: linear"),
        (["--algorithm", "odd"], "no collective here has an algorithm 'odd'"),
        (["-n", "four"], "-n takes numbers such as 4 or 2,3,8, not 'four'"),
        (["-n", "0"], "-n takes numbers from 1 on"),
        (["--timeout", "0"], "--timeout must be positive"),
        (
            ["allgather", "--algorithm", "neighbor_exchange", "-n", "3"],
            "the number of ranks must be even",
        ),
    ],
)
def test_usage_errors_are_a_sentence(words, text, capsys):
    assert main(["check", *words]) == 2
    err = capsys.readouterr().err
    assert err.startswith("mpicoll: ") and text in err
    assert err.count("\n") == 1


def test_json_goes_to_stdout_alone():
    command = [sys.executable, "-m", "mpicoll", "check", "scan", "-n", "2", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["ok"] and facts["status"] == 0
    [sizes] = facts["sizes"]
    assert sizes["size"] == 2 and sizes["failed"] == 0 and sizes["failures"] == []
    assert sum(result["cases"] for result in sizes["results"]) == sizes["cases"] > 50
    assert [r["algorithm"] for r in sizes["results"]][1:] == [a.name for a in algorithms_of("scan")]
    # Three for each batch, whatever the number of cases: waiting is dear when ranks share cores.
    assert sizes["agreements"] <= 3
    assert "all passed" in done.stderr


def test_nothing_checked_is_not_passed(capfd):
    assert main(["check", "Scatterv", "--algorithm", "binomial", "-n", "2"]) == 2
    assert "0 cases in 0.0 s: nothing was checked" in capfd.readouterr().out


def test_unwritable_json(capsys, tmp_path):
    words = ["check", "Barrier", "-n", "1", "--json", str(tmp_path / "no" / "such.json")]
    assert main(words) == 2
    assert "cannot write" in capsys.readouterr().err


def test_in_place_and_its_number_of_ranks():
    outcome = run(3, ["-m", "mpicoll", "check", "Exscan"], timeout=60, echo=False)
    assert outcome.returncode == 0, outcome.report
    assert "P = 3: " in outcome.output and "all passed" in outcome.output
    outcome = run(2, ["-m", "mpicoll", "check", "Exscan", "-n", "3"], timeout=60, echo=False)
    assert outcome.returncode == 2
    assert outcome.output.count("the launcher started 2 processes: leave out -n") == 1


def test_no_mpi_library_is_a_sentence():
    code = "import sys, mpicoll.commands.check; sys.exit('mpi4py.MPI' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
