"""The catalogue, the step tables and the written-out programs."""

import ast
import json
from pathlib import Path

import pytest

from mpicoll.__main__ import main
from mpicoll.analysis.bounds import BOUNDS
from mpicoll.registry import algorithms_of, collectives, find
from mpicoll.show.catalogue import determinism, markdown, row
from mpicoll.show.emit import program
from mpicoll.show.text import story
from mpicoll.spec import SPECS

EVERY = [each for name in collectives() for each in algorithms_of(name)]
DOCUMENT = Path(__file__).parents[2] / "docs" / "algorithms.md"


def test_the_document_is_what_the_registry_says():
    assert DOCUMENT.read_text(encoding="utf-8") == markdown(), (
        "run: mpicoll list --markdown > docs/algorithms.md"
    )


def test_every_collective_has_a_bound():
    assert set(BOUNDS) == set(SPECS)


@pytest.mark.parametrize("size", range(2, 34))
def test_nothing_is_below_the_bound_on_traffic(size):
    for algorithm in EVERY:
        if set(algorithm.unmet(size)) <= {"commutative"}:
            least = BOUNDS[algorithm.collective].values(size)[1]
            assert algorithm.claims(size, {})[1] >= least, algorithm


def test_the_best_algorithms_meet_both_bounds():
    for collective, name in (("allgather", "circulant"), ("reduce_scatter", "circulant")):
        for size in (2, 7, 33, 64):
            assert find(collective, name).claims(size, {})[:2] == BOUNDS[collective].values(size)


@pytest.mark.parametrize(
    ("collective", "name", "expected"),
    [
        ("allreduce", "recursive_doubling", "everywhere"),
        ("allreduce", "allgather_reduce", "everywhere"),
        ("allreduce", "ring", "ranks"),
        ("scan", "linear", "everywhere"),
        ("bcast", "linear", "exact"),
    ],
)
def test_determinism(collective, name, expected):
    assert determinism(find(collective, name)) == expected


def test_every_allreduce_has_the_same_bits_on_all_ranks():
    assert {determinism(each) for each in algorithms_of("allreduce")} <= {"everywhere", "ranks"}


def test_a_row_has_numbers_for_a_size():
    at = row(find("allreduce", "ring"), 4)["at"]
    assert (at["rounds"], at["volume"], at["volume_ratio"]) == (6, 1.5, 1.0)
    assert "at" not in row(find("allreduce", "swing"), 6)


def test_story_of_a_rooted_algorithm():
    lines = story(find("bcast", "binomial"), 3, root=1).splitlines()
    assert lines[0] == "bcast binomial on 3 ranks, root 1, blocks = 1"
    assert lines[2:6] == [
        "round 1",
        "  rank 0: receives B0",
        "  rank 1: sends B0",
        "  rank 2: receives B0",
    ]


def test_story_of_a_barrier_names_the_peers():
    assert "rank 0: receives word from 2, sends word to 1" in story(
        find("barrier", "dissemination"), 3
    )


@pytest.mark.parametrize("algorithm", EVERY, ids=str)
def test_a_program_has_every_message_of_the_plans(algorithm):
    tree = ast.parse(program(algorithm, 4))
    calls = [
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    sends = sum(calls.count(name) for name in ("Send", "Isend", "Sendrecv"))
    recvs = sum(calls.count(name) for name in ("Recv", "Irecv", "Sendrecv"))
    steps = [
        type(step).__name__
        for rank in range(4)
        for steps in algorithm.plan(rank, 4)
        for step in steps
    ]
    assert (sends, recvs) == (steps.count("Send"), steps.count("Recv"))


def test_list(capsys):
    assert main(["list", "allreduce", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [line["algorithm"] for line in rows] == [a.name for a in algorithms_of("allreduce")]
    assert main(["list", "allreduce", "-p", "6"]) == 0
    assert "requires power_of_two" in capsys.readouterr().out
    assert main(["list", "bcast"]) == 0
    assert "openmpi binomial" in capsys.readouterr().out


def test_show(capsys):
    assert main(["show", "allreduce", "ring", "-p", "4"]) == 0
    out = capsys.readouterr().out
    assert "rank 0: receives D2, sends A3; chunk 2 = A2+D2" in out
    assert "def ring(" in out


def test_emit_of_one_rank(capsys):
    assert (
        main(["emit", "bcast", "pipelined", "-p", "3", "--rank", "1", "--set", "segments=2"]) == 0
    )
    out = capsys.readouterr().out
    assert "if rank == 1:" in out
    assert "if rank == 0:" not in out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["show", "allreduce", "rign"], "has no algorithm 'rign'"),
        (["show", "allreduce", "swing", "-p", "6"], "power of two"),
        (["show", "bcast", "linear", "--root", "4"], "root must be in 0..3"),
        (["show", "bcast", "knomial", "--set", "radix=1"], "radix must be an integer from 2 on"),
        (["show", "bcast", "knomial", "--set", "radix"], "expected NAME=NUMBER"),
        (["show", "bcast", "linear", "-p", "0"], "must be 1 or more"),
        (["emit", "bcast", "linear", "--rank", "7"], "rank must be in 0..3"),
        (["list", "allredcue"], "unknown collective"),
        (["list", "-p", "0"], "must be 1 or more"),
    ],
)
def test_wrong_usage(arguments, reason, capsys):
    assert main(arguments) == 2
    assert reason in capsys.readouterr().err
