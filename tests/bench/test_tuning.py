"""Tables of measured choices: how they are made, read, and used."""

import json
import os
import subprocess
import sys

import pytest

import mpicoll
from mpicoll import selection
from mpicoll.bench.tuning import ladder, table_from
from mpicoll.launch.command import clean_environment
from mpicoll.selection.tuned import TuningError, load

STEPS = [
    {"up_to": 1000, "algorithm": "recursive_doubling"},
    {"up_to": None, "algorithm": "ring"},
]
TABLE = {"format": 1, "tables": {"allreduce": {"4": STEPS}}}


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.json"

    def write(data):
        path.write_text(data if isinstance(data, str) else json.dumps(data))
        return str(path)

    yield write
    mpicoll.tuning(None)


def test_a_change_must_be_worth_it():
    assert ladder({8: {"a": 1.0, "b": 1.04}, 64: {"a": 1.04, "b": 1.0}}) == [(None, "a")]
    assert ladder({8: {"a": 1.0, "b": 2.0}, 32: {"a": 2.0, "b": 1.0}}) == [(16, "a"), (None, "b")]


def test_an_algorithm_that_lasts_is_preferred():
    medians = {8: {"a": 1.0, "b": 1.03}, 16: {"a": 2.0, "b": 1.0}, 32: {"a": 3.0, "b": 1.0}}
    assert ladder(medians) == [(None, "b")]


def made(candidate, algorithm, nbytes, p50):
    return {
        "independent": {
            "group": "collectives",
            "collective": "bcast",
            "library": "mpicoll",
            "candidate": candidate,
            "algorithm": algorithm,
            "parameters": {},
            "ranks": 2,
            "nbytes": nbytes,
        },
        "dependent": {"p50": p50, "verified": True},
    }


def test_table_from_results():
    rows = [made("auto", "chain", 8, 2.0), made("chain", "chain", 8, 2.0)]
    rows += [made("linear", "linear", 8, 1.0)]
    result = table_from([{"rows": rows, "environment": {}}], "as said")
    assert result["tables"] == {"bcast": {"2": [{"up_to": None, "algorithm": "linear"}]}}
    assert result["over_rules"] == {"bcast": {"2": 0.5}}


def test_a_table_decides_what_it_speaks_of(table):
    mpicoll.tuning(table(TABLE))
    assert selection.choose("allreduce", 4, 1000, True, True).algorithm.name == "recursive_doubling"
    long = selection.choose("allreduce", 4, 1001, True, True)
    assert long.algorithm.name == "ring" and "table.json" in long.reason
    for call in [(4, 8, False, True), (8, 8, True, True)]:
        assert "table.json" not in selection.choose("allreduce", *call).reason
    mpicoll.tuning(None)
    assert "table.json" not in selection.choose("allreduce", 4, 8, True, True).reason


def test_the_environment_names_a_table(table, monkeypatch):
    path = table(TABLE)
    selection.forget()
    monkeypatch.setenv("MPICOLL_TUNING", path)
    assert "table.json" in selection.choose("allreduce", 4, 8, True, True).reason
    monkeypatch.setenv("MPICOLL_ALLREDUCE", "swing")
    selection.forget()
    assert selection.choose("allreduce", 4, 8, True, True).algorithm.name == "swing"
    monkeypatch.undo()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("{", "no tuning table"),
        ([], "format 1"),
        ({"format": 2, "tables": {}}, "format 1"),
        ({"format": 1}, "tables"),
        ({"format": 1, "tables": {"allreduce": {"4": []}}}, "null being last"),
        ({"format": 1, "tables": {"allreduce": {"4": STEPS[:1]}}}, "null being last"),
        ({"format": 1, "tables": {"allreduce": {"four": STEPS}}}, "four"),
        ({"format": 1, "tables": {"allreduce": {"4": [{"up_to": None}]}}}, "algorithm"),
        ({"format": 1, "tables": {"bcast": {"4": STEPS}}}, "bcast has no algorithm"),
        ({"format": 1, "tables": {"cast": {"4": STEPS}}}, "cast"),
    ],
)
def test_files_that_are_no_tables(table, data, said):
    with pytest.raises(TuningError, match=said):
        load(table(data))


def test_a_table_that_is_not_there():
    with pytest.raises(TuningError, match="cannot read"):
        load("no/such/table.json")


def tool(*words, **variables):
    return subprocess.run(
        [sys.executable, "-m", "mpicoll", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        env=clean_environment() | variables,
    )


def test_tune_and_use_it(tmp_path):
    path, results = tmp_path / "table.json", tmp_path / "results.json"
    words = ["--sizes", "8:1K:8", "--seconds-per-size", "0.02"]
    done = tool("tune", "bcast", "-n", "2", "-o", path, *words)
    assert done.returncode == 0, done.stderr
    steps = json.loads(path.read_text())["tables"]["bcast"]["2"]
    assert steps[-1]["up_to"] is None
    assert f"bcast on 2 ranks ({done.stdout.split('(')[-1].split()[0]} of" in done.stdout

    words += ["--json", results, "--algorithm", "all", "--no-floor"]
    done = tool("bench", "bcast", "-n", "2", *words, MPICOLL_TUNING=str(path))
    assert done.returncode == 0, done.stderr
    assert f"# set: MPICOLL_TUNING={path}" in done.stdout
    rows = json.loads(results.read_text())["rows"]
    auto = [row["independent"] for row in rows if row["independent"]["candidate"] == "auto"]
    for chosen in auto:
        bounds = (s for s in steps if s["up_to"] is None or chosen["nbytes"] <= s["up_to"])
        assert chosen["algorithm"] == next(bounds)["algorithm"]

    done = tool("tune", "--from", results, "-o", path)
    assert done.returncode == 0, done.stderr
    assert load(str(path)).rule("bcast", 2, 8, True, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bcast"], "the following arguments are required: -o"),
        (["cast", "-o", "it.json"], "unknown collective 'cast'"),
        (["bcast", "-n", "two", "-o", "it.json"], "-n takes numbers"),
        (["bcast", "-n", "0", "-o", "it.json"], "-n must be at least 1"),
        (["bcast", "-o", "no/such/it.json"], "no such directory"),
        (["--from", "no.json", "-o", "it.json"], "cannot read no.json"),
        (["--from", os.devnull, "-o", "it.json"], "is no result of mpicoll bench"),
        (["bcast", "-o", "it.json", "--from", os.devnull], "leave out -n and collectives"),
    ],
)
def test_bad_input(words, said):
    done = tool("tune", *words)
    assert done.returncode == 2
    assert said in done.stderr
