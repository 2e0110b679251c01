"""Every algorithm, proved; and the proof's own counts on cases that can be counted by hand."""

import json
from dataclasses import replace
from fractions import Fraction

import pytest

from mpicoll.__main__ import main
from mpicoll.analysis.sweep import cases, sweep
from mpicoll.analysis.symbolic import prove
from mpicoll.registry import algorithms_of, collectives, find

EVERY = [each for name in collectives() for each in algorithms_of(name)]


@pytest.mark.parametrize("algorithm", EVERY, ids=str)
def test_every_algorithm_is_proved(algorithm):
    summary = sweep(algorithm, range(1, 10))
    assert summary.proofs
    assert summary.ok, summary.explain()


@pytest.mark.parametrize("size", [16, 33])
@pytest.mark.parametrize("algorithm", EVERY, ids=str)
def test_larger_sizes(algorithm, size):
    if algorithm.requires and set(algorithm.unmet(size)) - {"commutative"}:
        pytest.skip(f"{algorithm} does not serve {size} ranks")
    proof = prove(algorithm, size)
    assert proof.ok, proof.explain()


def test_counts_of_the_ring():
    proof = prove(find("allreduce", "ring"), 4)
    assert (proof.rounds, proof.messages, proof.depth) == (6, 24, 6)
    assert (proof.volume, proof.reduced) == (Fraction(3, 2), Fraction(3, 4))
    assert (proof.order, proof.same_bits, proof.same_blocks) == ("commutative", True, False)


def test_depth_is_the_longest_chain_of_waiting_ranks():
    proof = prove(find("reduce", "linear"), 5)
    assert proof.depth == 4
    assert prove(find("bcast", "binomial"), 8).depth == 3


def test_recursive_doubling_has_the_same_bits_everywhere_for_every_block():
    proof = prove(find("allreduce", "recursive_doubling"), 8)
    assert (proof.order, proof.same_bits, proof.same_blocks) == ("rank", True, True)


def test_one_rank_needs_no_message():
    for algorithm in EVERY:
        assert prove(algorithm, 1).messages == 0


def test_cases_cover_every_root_and_both_modes():
    tried = list(cases(find("reduce", "linear"), [3, 20]))
    assert {case["root"] for case in tried if case["size"] == 3} == {0, 1, 2}
    assert {case["root"] for case in tried if case["size"] == 20} == {0, 1, 10, 19}
    assert {case["in_place"] for case in tried} == {False, True}


def test_an_order_that_is_never_needed_is_a_false_declaration():
    modest = replace(find("allreduce", "recursive_doubling"), order="commutative")
    assert [finding.kind for finding in sweep(modest, range(1, 6)).findings] == [
        "false declaration"
    ]


def test_a_requirement_that_is_not_needed_is_a_false_declaration():
    modest = replace(find("allgather", "ring"), requires=("power_of_two",))
    finding = sweep(modest, range(1, 17)).findings[0]
    assert finding.kind == "false declaration"
    assert "requires power_of_two" in finding.message


def test_a_requirement_that_is_missing_is_hinted_at():
    bold = replace(find("allgather", "recursive_doubling"), requires=())
    summary = sweep(bold, range(1, 10))
    assert summary.bad_sizes == {3, 5, 6, 7, 9}
    assert "requires=('power_of_two',)" in summary.explain()


def test_the_command_prints_a_line_and_a_total(capsys, tmp_path):
    path = tmp_path / "proofs.json"
    assert main(["prove", "allreduce", "ring", "--sizes", "2-4", "--json", str(path)]) == 0
    out = capsys.readouterr().out
    assert "allreduce ring" in out
    assert "1 algorithms, 6 proofs, 80 messages checked" in out
    assert json.loads(path.read_text())["algorithms"][0]["ok"] is True


@pytest.mark.parametrize(
    "arguments", [["allredcue"], ["allreduce", "rign"], ["--sizes", "0"], ["--sizes", "3-x"]]
)
def test_wrong_usage(arguments, capsys):
    assert main(["prove", *arguments]) == 2
    assert capsys.readouterr().err.startswith("mpicoll: ")
