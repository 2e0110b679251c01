"""Statistics, factors, sizes, order and options: no MPI."""

import argparse
import itertools
import math

import pytest

from mpicoll.bench.figures import bus_factor, geometric_mean, order, summarise
from mpicoll.bench.options import check_operation, named, tasks
from mpicoll.bench.result import means, row
from mpicoll.bench.sizes import parse_sizes, size_text
from mpicoll.bench.timing import Limits, _chunk
from mpicoll.commands import bench
from mpicoll.commands.bench_request import check


def test_summary_of_a_hundred_times():
    summary = summarise([float(i) for i in range(100, 0, -1)])
    assert (summary.min, summary.max, summary.iterations) == (1, 100, 100)
    assert (summary.avg, summary.p50, summary.p99) == (50.5, 50.5, 99)


def test_summary_of_one_time():
    assert set(vars(summarise([2.0])).values()) == {1, 2.0}


def test_an_outlier_does_not_move_the_median():
    assert summarise([1.0, 1.0, 1.0, 1.0, 1000.0]).p50 == 1.0


def test_geometric_mean():
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    assert geometric_mean([1.0, 4.0, 16.0]) == pytest.approx(4.0)
    assert math.isnan(geometric_mean([]))


@pytest.mark.parametrize(
    ("collective", "factor"),
    [
        ("allreduce", 2 * 7 / 8),
        ("reduce_scatter", 7 / 8),
        ("allgather", 7 / 8),
        ("alltoall", 7 / 8),
        ("gather", 7 / 8),
        ("scatter", 7 / 8),
        ("bcast", 1),
        ("reduce", 1),
    ],
)
def test_bus_factors_are_those_of_nccl_tests(collective, factor):
    assert bus_factor(collective, 8) == factor


@pytest.mark.parametrize("candidates", [1, 2, 3, 5, 8])
def test_everyone_has_every_place_equally_often(candidates):
    turns = [order(candidates, i) for i in range(2 * candidates)]
    assert all(sorted(turn) == list(range(candidates)) for turn in turns)
    for place in range(candidates):
        who = [turn[place] for turn in turns]
        assert all(who.count(candidate) == 2 for candidate in range(candidates))


@pytest.mark.parametrize("candidates", [2, 3, 5, 8])
def test_everyone_follows_every_other_equally_often(candidates):
    turns = [order(candidates, i) for i in range(2 * candidates)]
    pairs = [pair for turn in turns for pair in itertools.pairwise(turn)]
    for one in range(candidates):
        for other in range(candidates):
            assert pairs.count((one, other)) == (2 if one != other else 0)


def test_sizes():
    assert parse_sizes("8:64M") == [8 << i for i in range(24)]
    assert parse_sizes("1K:1M:32,8") == [8, 1 << 10, 32 << 10, 1 << 20]
    assert parse_sizes("3KiB") == [3072]
    assert size_text(64 << 20) == "64 MiB"


@pytest.mark.parametrize("text", ["", "x", "0", "-8", "8:4", "8:64:1", "8:64:2:2", "64T", "99G"])
def test_sizes_that_make_no_sense(text):
    with pytest.raises(ValueError, match="size"):
        parse_sizes(text)


def test_iterations_end_by_number_or_by_time():
    assert _chunk(0, 0.0, Limits(3, 1.0)) == 3
    assert _chunk(3, 0.1, Limits(3, 1.0)) == 0
    assert _chunk(5, 9.0, Limits(1000, 1.0)) == 0
    assert _chunk(0, 9.0, Limits(1000, 1.0)) == 5
    assert 1 <= _chunk(100, 0.5, Limits(1000, 1.0)) <= 100


def test_all_means_auto_and_what_serves():
    labels = [each.label for each in named("allreduce", "all", 3, 0)]
    assert labels[0] == "auto" and "ring" in labels
    assert "recursive_doubling" in [each.label for each in named("allreduce", "all", 4, 0)]


def test_an_algorithm_with_a_parameter():
    (one,) = named("allreduce", "recursive_multiplying:radix=3", 4, 0)
    assert one.label == "recursive_multiplying:radix=3" and one.parameters == (("radix", 3),)


@pytest.mark.parametrize(
    "text", ["rung", "ring:radix=3", "recursive_multiplying:radix", "recursive_multiplying:=1", ""]
)
def test_algorithms_that_there_are_not(text):
    with pytest.raises((ValueError, TypeError)):
        named("allreduce", text, 4, 0)


def test_tasks_of_groups_and_collectives():
    todo = tasks(["bcast", "collectives", "overlap:alltoall"], (8, 16), "auto", 2, 0)
    assert [task.collective for task in todo].count("bcast") == 1
    assert {task.group for task in todo} == {"collectives", "overlap"}
    assert len(todo) == 9
    assert all(task.sizes == (8, 16) for task in todo)


@pytest.mark.parametrize("word", ["allreduc", "overlap:nothing", "pingpong:bcast", "bcast:bcast"])
def test_tasks_that_there_are_not(word):
    with pytest.raises(ValueError, match="expected"):
        tasks([word], None, "auto", 2, 0)


@pytest.mark.parametrize(("op", "dtype"), [("SUM", "text"), ("ADD", "int8"), ("BAND", "float32")])
def test_operations_that_there_are_not(op, dtype):
    with pytest.raises(ValueError, match=r"expected|not defined"):
        check_operation(op, dtype)


def made(candidate, nbytes, p50, native, collective="bcast"):
    chosen = {
        "group": "collectives",
        "collective": collective,
        "form": "blocking",
        "library": "mpicoll",
        "candidate": candidate,
        "ranks": 2,
        "nbytes": nbytes,
    }
    return row(chosen, summarise([p50]), over_native=p50 / native)


def test_row_and_means():
    rows = [
        made("ring", 8, 1e-6, 2e-6),
        made("ring", 4096, 4e-6, 2e-6),
        made("ring", 1 << 20, 1, 4),
    ]
    assert rows[1]["dependent"]["algbw"] == pytest.approx(4096 / 4e-6)
    assert rows[1]["dependent"]["over_floor"] is None
    found = {mean["class"]: mean for mean in means(rows)}
    assert found["8B-4KiB"]["over_native"] == pytest.approx(1.0)
    assert found["64KiB-64MiB"]["over_native"] == pytest.approx(0.25)
    assert found["all"]["over_native"] == pytest.approx(0.25 ** (1 / 3))
    assert found["all"]["rows"] == 3


def test_means_of_collectives_together():
    rows = [made("auto", 8, 1.0, 2.0), made("auto", 8, 2.0, 1.0, "reduce")]
    rows += [made("auto", 8, 4.0, 1.0, "gather"), made("chain", 8, 1.0, 1.0)]
    found = {(m["collective"], m["candidate"]): m for m in means(rows) if m["class"] == "all"}
    assert found["together", "auto"]["over_native"] == pytest.approx(4.0 ** (1 / 3))
    assert found["movers", "auto"]["over_native"] == pytest.approx(2.0**0.5)
    assert ("reducers", "auto") not in found and ("together", "chain") not in found


@pytest.mark.parametrize(
    "line",
    [line.strip() for line in bench.EXAMPLES.splitlines() if line.startswith("  mpicoll bench")],
)
def test_the_examples_of_the_help_make_sense(line, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)  # as if torch were there
    parser = argparse.ArgumentParser()
    bench.configure(parser)
    _, _, todo = check(parser.parse_args(line.split()[2:]))
    assert todo
