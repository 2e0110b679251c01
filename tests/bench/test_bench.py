"""`mpicoll bench` on two ranks, with few short messages; nothing depends on how long they take."""

import csv
import importlib.util
import json
import subprocess
import sys

import pytest

from mpicoll.analysis.network import load
from mpicoll.bench.result import DEPENDENT, INDEPENDENT
from mpicoll.launch.command import clean_environment, mpiexec_command
from mpicoll.launch.library import find_launcher, find_library

QUICK = ["--iterations", "6", "--seconds-per-size", "0.02"]


def bench(*words, launcher=(), **variables):
    command = [*launcher, sys.executable, "-m", "mpicoll", "bench", *map(str, words)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=120,
        env=clean_environment() | {"OMPI_ALLOW_RUN_AS_ROOT": "1"} | variables,
    )


def tables(text):
    """The tables as those who know the OSU micro-benchmarks read them: {title: rows of numbers}."""
    found, title = {}, None
    for line in text.splitlines():
        if " Test: " in line:
            title = line.removeprefix("# mpicoll ")
            found[title] = []
        elif line and not line.startswith("#"):
            found[title].append([float(word) for word in line.split()])
    return found


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """One run with everything in it: its output and the files it wrote."""
    folder = tmp_path_factory.mktemp("bench")
    files = [word for kind in ("json", "csv") for word in (f"--{kind}", folder / f"it.{kind}")]
    what = ["allreduce", "gather", "barrier", "-n", 2, "--sizes", "8:1K:8"]
    done = bench(*what, "--algorithm", "all", *QUICK, *files)
    assert done.returncode == 0, done.stderr
    return done, json.loads((folder / "it.json").read_text()), folder / "it.csv"


def test_tables_can_be_parsed(measured):
    done, _, _ = measured
    found = tables(done.stdout)
    assert {"Allreduce Latency Test: native", "Gather Latency Test: auto"} <= set(found)
    for title, rows in found.items():
        sizes = [row[0] for row in rows]
        assert sizes == ([0] if title.startswith("Barrier") else [8, 64, 512])
        for row in rows:
            _, average, least, most, iterations, p50, p99 = row[:7]
            assert 0 < least <= p50 <= p99 <= most
            assert least <= average <= most
            assert iterations >= 5


def test_the_header_tells_where_it_ran(measured):
    done, facts, _ = measured
    head = done.stdout.splitlines()[:5]
    assert all(line.startswith("# ") for line in head)
    assert "ranks: 2 on 1 host" in done.stdout and "clock: perf_counter" in done.stdout
    assert facts["environment"]["ranks"] == 2
    assert facts["environment"]["mpi"].startswith(("MPICH", "Open MPI"))
    assert ("OVERSUBSCRIBED" in done.stdout) == facts["environment"]["oversubscribed"]


def test_progress_goes_to_stderr(measured):
    done, _, _ = measured
    assert "allreduce 64 B (2 of 3): " in done.stderr
    assert "(2 of 3)" not in done.stdout


def test_json_holds_independent_and_dependent_variables_apart(measured):
    _, facts, _ = measured
    assert facts["ok"] is True and facts["format"] == 1
    for row in facts["rows"]:
        assert set(row) == {"independent", "dependent"}
        assert set(row["independent"]) == set(INDEPENDENT)
        assert set(row["dependent"]) == set(DEPENDENT)
        assert row["dependent"]["verified"] is True
    chosen = [row["independent"] for row in facts["rows"]]
    assert {each["library"] for each in chosen} == {"native", "mpicoll", "floor"}
    auto = next(each for each in chosen if each["candidate"] == "auto")
    assert auto["algorithm"] and auto["algorithm"] != "auto"
    assert (auto["dtype"], auto["op"], auto["ranks"]) == ("float32", "SUM", 2)


def test_every_algorithm_has_its_floor(measured):
    _, facts, _ = measured
    for row in facts["rows"]:
        chosen, times = row["independent"], row["dependent"]
        if chosen["library"] != "mpicoll":
            continue
        floor = next(
            other["dependent"]
            for other in facts["rows"]
            if other["independent"]["candidate"] == f"floor:{chosen['algorithm']}"
            and other["independent"]["collective"] == chosen["collective"]
            and other["independent"]["nbytes"] == chosen["nbytes"]
        )
        assert times["over_floor"] == pytest.approx(times["p50"] / floor["p50"])
        # All of the two do the same: both had the same number of turns.
        assert times["iterations"] == floor["iterations"]


def test_csv_is_flat(measured):
    _, facts, path = measured
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(facts["rows"])
    assert set(rows[0]) == {*INDEPENDENT, *DEPENDENT}
    assert [float(row["p50"]) for row in rows] == [row["dependent"]["p50"] for row in facts["rows"]]


def test_means(measured):
    _, facts, _ = measured
    mean = next(
        mean for mean in facts["means"] if mean["candidate"] == "native" and mean["class"] == "all"
    )
    assert mean["over_native"] == pytest.approx(1.0)


def test_small_sizes_are_rounded_up_and_not_measured_twice():
    done = bench("allgather", "-n", 2, "--sizes", "1:16", "--dtype", "float64", *QUICK)
    assert done.returncode == 0, done.stderr
    assert [row[0] for row in tables(done.stdout)["Allgather Latency Test: auto"]] == [16]


@pytest.mark.parametrize("collective", ["reduce", "scatter", "bcast", "scan", "exscan", "alltoall"])
def test_collectives_with_another_root_and_operation(collective):
    words = [collective, "-n", 3, "--root", 2, "--op", "MAX", "--dtype", "int32", "--sizes", 48]
    done = bench(*words, *QUICK)
    assert done.returncode == 0, done.stderr
    assert "ranks: 3" in done.stdout


def test_groups(tmp_path):
    network = tmp_path / "network.json"
    done = bench(
        *["pingpong", "overlap", "persistent:bcast", "startup", "-n", 2, "--sizes", "8,4K"],
        *["--network", network, *QUICK],
    )
    assert done.returncode == 0, done.stderr
    assert load(str(network)).intra.alpha > 0
    found = tables(done.stdout)
    overlap = found["Allreduce Overlap Test: mpicoll"]
    assert all(0 <= row[4] <= 100 for row in overlap)
    assert len(found["Ping-pong Test: Send and Recv, intra-node"]) == 2
    assert len(found["Bcast Latency Test: auto persistent"]) == 2
    assert "# import mpicoll" in done.stdout and "first call" in done.stdout


def test_in_place_under_mpiexec(tmp_path):
    launcher = find_launcher(find_library())
    command, added = mpiexec_command(2, [], launcher)
    path = tmp_path / "it.json"
    done = bench("bcast", "--sizes", 8, "--json", path, *QUICK, launcher=command, **added)
    assert done.returncode == 0, done.stderr
    assert json.loads(path.read_text())["environment"]["launcher"] == "mpiexec"
    assert len(tables(done.stdout)) == 2


def test_plot(tmp_path):
    pytest.importorskip("matplotlib")
    path = tmp_path / "it.svg"
    done = bench("allreduce", "-n", 2, "--sizes", "8:1K:8", "--plot", path, *QUICK)
    assert done.returncode == 0, done.stderr
    assert "<svg" in path.read_text()


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_gloo():
    done = bench("collectives", "-n", 2, "--against", "native,gloo", "--sizes", 64, *QUICK)
    assert done.returncode == 0, done.stderr
    assert sum("gloo" in title for title in tables(done.stdout)) == 8


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["allreduc"], 2, "unknown collective or group 'allreduc'"),
        (["allreduce", "--algorithm", "rung"], 2, "has no algorithm 'rung'"),
        (["allreduce", "--sizes", "8:4"], 2, "sizes must ascend"),
        (["allreduce", "-n", "0"], 2, "-n must be at least 1"),
        (["bcast", "-n", "2", "--root", "2"], 2, "--root must be in 0..1"),
        (["allreduce", "--op", "BAND"], 2, "MPI.BAND is not defined for float32"),
        (["allreduce", "--against", "openmpi"], 2, "--against takes native, gloo or none"),
        (["allreduce", "--seconds-per-size", "0"], 2, "must be a number of seconds above 0"),
        (["allreduce", "--iterations", "0"], 2, "--iterations must be at least 1"),
        (["allreduce", "--json", "no/such/folder/it.json"], 2, "no such directory"),
        (["allreduce", "--plot", "it.gif"], 2, "--plot takes a name that ends in .png"),
        (["allreduce", "--network", "it.json"], 2, "--network is what pingpong measures"),
        (["pingpong", "-n", "1"], 2, "pingpong needs two ranks"),
    ],
)
def test_bad_input(words, status, said):
    done = bench(*words)
    assert done.returncode == status
    assert said in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("module", "words", "said"),
    [
        ("matplotlib", ["--plot", "it.png"], "pip install 'mpicoll[plot]'"),
        ("torch", ["--against", "gloo"], "pip install 'mpicoll[torch]'"),
    ],
)
def test_an_extra_that_is_missing(module, words, said, monkeypatch, capsys):
    from mpicoll.__main__ import main

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["bench", "allreduce", *words]) == 3
    assert said in capsys.readouterr().err


def test_the_deadline_passes():
    done = bench("allreduce", "-n", 2, "--sizes", "8:64M", "--timeout", 2)
    assert done.returncode == 124
    assert "no end after 2 s" in done.stderr
