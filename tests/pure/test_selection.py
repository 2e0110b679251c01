"""Selection: the rules of three libraries, and that they say why."""

import json

import pytest

from mpicoll.__main__ import main
from mpicoll.analysis.explain import explain
from mpicoll.analysis.presets import PRESETS
from mpicoll.registry import RequirementError, collectives, find
from mpicoll.selection import SELECTORS, choose, decide, forget
from mpicoll.selection.elsewhere import NAMES, algorithm_of
from mpicoll.selection.openmpi import LADDERS, _bytes
from mpicoll.selection.openmpi import NAMES as IDS

KIB, MIB = 1024, 1 << 20


@pytest.fixture
def fresh():
    forget()
    yield
    forget()


def chosen(selector, collective, size, nbytes, commutative=True, equal=True):
    return decide(selector, collective, size, nbytes, commutative, equal).algorithm.name


@pytest.mark.parametrize(
    ("collective", "size", "nbytes", "name"),
    [
        ("bcast", 4, MIB, "binomial"),
        ("bcast", 16, 12288, "binomial"),
        ("bcast", 16, 12289, "scatter_allgather"),
        ("bcast", 16, 524289, "scatter_ring_allgather"),
        ("bcast", 12, 12289, "scatter_ring_allgather"),
        ("allreduce", 16, 8, "recursive_doubling"),
        ("allreduce", 16, 64, "recursive_doubling"),
        ("allreduce", 16, 128, "rabenseifner"),
        ("allgather", 16, 524287, "recursive_doubling"),
        ("allgather", 16, 524288, "ring"),
        ("allgather", 12, 81919, "bruck"),
        ("allgather", 12, 81920, "ring"),
        ("reduce", 16, 2048, "binomial"),
        ("reduce", 16, 2049, "rabenseifner"),
        ("reduce_scatter", 16, 524287, "recursive_halving"),
        ("reduce_scatter", 16, 524288, "pairwise"),
        ("alltoall", 8, 8 * 256, "bruck"),
        ("alltoall", 8, 8 * 257, "linear"),
        ("alltoall", 64, 64 * 257, "windowed"),
        ("alltoall", 8, 8 * 32769, "pairwise"),
        ("alltoall", 4, 4 * 256, "linear"),
        ("barrier", 5, 0, "dissemination"),
        ("gather", 5, 100, "binomial"),
        ("scan", 5, 100, "recursive_doubling"),
    ],
)
def test_rules_of_mpich(collective, size, nbytes, name):
    assert chosen("mpich", collective, size, nbytes) == name


@pytest.mark.parametrize(
    ("collective", "size", "nbytes", "name"),
    [
        ("allreduce", 8, 8191, "recursive_doubling"),
        ("allreduce", 8, 8192, "rabenseifner"),
        ("allreduce", 256, 4095, "reduce_bcast"),
        ("allreduce", 256, 4096, "rabenseifner"),
        ("bcast", 20, MIB, "scatter_allgather"),
        ("bcast", 100, 8, "knomial"),
        ("reduce", 10, 8191, "binary"),
        ("reduce", 10, 8192, "binomial"),
        ("reduce_scatter", 16, 262143, "recursive_halving"),
        ("reduce_scatter", 16, 262144, "ring"),
        ("allgather", 8, 8, "recursive_doubling"),
        ("allgather", 6, 6, "bruck"),
        ("allgather", 33, 33 * KIB, "ring"),
        ("allgather", 34, 34 * KIB, "neighbor_exchange"),
        ("alltoall", 40, 40 * 511, "bruck"),
        ("barrier", 100, 0, "dissemination"),
        ("barrier", 300, 0, "tree"),
        ("scatter", 100, 100 * 600, "linear"),
        ("exscan", 100, 8, "linear"),
    ],
)
def test_rules_of_open_mpi(collective, size, nbytes, name):
    assert chosen("openmpi", collective, size, nbytes) == name


def test_order_is_kept():
    for collective in ("reduce", "allreduce", "reduce_scatter", "scan", "exscan"):
        for selector in SELECTORS:
            for size in (5, 8, 100):
                found = decide(selector, collective, size, 5000, False, True)
                assert found.algorithm.order == "rank"


def test_unequal_blocks():
    assert chosen("mpich", "alltoall", 8, None, equal=False) == "linear"
    assert chosen("openmpi", "alltoall", 100, None, equal=False) == "pairwise"
    assert chosen("openmpi", "gather", 8, None, equal=False) == "linear"
    assert chosen("mpich", "scatter", 8, None, equal=False) == "linear"
    assert chosen("mpich", "reduce_scatter", 8, 64, False, False) == "recursive_doubling"


def test_mpicoll_always_has_an_algorithm():
    for collective in collectives():
        for size in (1, 2, 3, 4, 7, 8, 12, 100, 1024):
            for nbytes in (0, 1, 10**4, 10**5, 10**9):
                for commutative in (True, False):
                    found = decide("mpicoll", collective, size, nbytes, commutative, True)
                    assert found.reason
        unknown = collective in ("scatter", "gather", "alltoall")
        assert decide("mpicoll", collective, 9, None if unknown else 99, False, False)


def test_what_is_missing_is_an_error():
    with pytest.raises(RequirementError, match="'linear_sync' for gather"):
        decide("openmpi", "gather", 4, 4 * MIB, True, True)
    with pytest.raises(RequirementError, match="declared to be that"):
        algorithm_of("mpich", "bcast", "no such thing")
    with pytest.raises(ValueError, match="no selector 'lam'"):
        decide("lam", "bcast", 4, 8, True, True)


def test_tables_are_sound():
    for name, ladder in LADDERS.items():
        base = name.removesuffix(" in order")
        ids = IDS[base if base in IDS else base.removesuffix("v")].split()
        lines = ladder.replace("/", "\n").strip().splitlines()
        below = [line.partition(":")[0].strip() for line in lines]
        assert below[-1] == "*"
        assert [int(b) for b in below[:-1]] == sorted({int(b) for b in below[:-1]})
        for line in lines:
            steps = [step.partition("<") for step in line.partition(":")[2].split()]
            assert all(1 <= int(number) <= len(ids) for number, _, _ in steps)
            limits = [_bytes(limit) for _, _, limit in steps[:-1]]
            assert limits == sorted(set(limits)) and not steps[-1][2]
    for (_, collective, _), ours in NAMES.items():
        find(collective, ours)


def test_the_environment_asks(monkeypatch, fresh):
    assert choose("allreduce", 6, 100, True, True).algorithm.name == "recursive_doubling"
    monkeypatch.setenv("MPICOLL_SELECTOR", "mpich")
    # The kinds of call that have occurred keep what they got, until the cache is cleared.
    assert choose("allreduce", 6, 100, True, True).algorithm.name == "recursive_doubling"
    forget()
    assert choose("allreduce", 6, 100, True, True).algorithm.name == "rabenseifner"
    assert "there reduce_scatter_allgather" in choose("allreduce", 6, 100, True, True).reason
    monkeypatch.setenv("MPICOLL_ALLREDUCE", "ring")
    forget()
    assert choose("allreduce", 6, 100, True, True).reason == "MPICOLL_ALLREDUCE=ring is set"
    with pytest.raises(RequirementError, match="commutative"):
        choose("allreduce", 6, 100, False, True)
    monkeypatch.setenv("MPICOLL_SELECTOR", "nobody")
    with pytest.raises(ValueError, match="no selector 'nobody'"):
        choose("bcast", 6, 100, True, True)


def test_an_explanation():
    found = explain("mpich", "allreduce", 6, MIB, PRESETS["ethernet-10g"], commutative=False)
    assert found.verdict.algorithm == "recursive_doubling"
    assert {verdict.selector for verdict in found.others} == {"mpicoll", "openmpi"}
    unusable = {c.algorithm: c.unmet for c in found.candidates if c.unmet}
    assert unusable["swing"] == (
        "the number of ranks must be a power of two",
        "the operation must be commutative",
    )
    seconds = [c.seconds for c in found.candidates if c.seconds is not None]
    assert seconds == sorted(seconds) and len(seconds) >= 4


def test_the_command(capsys, tmp_path):
    path = tmp_path / "why.json"
    words = ["why", "allreduce", "-p", "12", "--bytes", "1M", "--op", "sum", "--json", str(path)]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "cannot be used: swing: the number of ranks must be a power of two" in out
    assert "openmpi" in out and "<- " in out
    assert json.loads(path.read_text())["verdict"]["selector"] == "mpicoll"
    assert main(["why", "allreduce", "-p", "5000", "--bytes", "1M"]) == 0
    assert "closed form" in capsys.readouterr().out


def test_the_command_says_that_there_is_nothing(capsys):
    assert main(["why", "gather", "-p", "4", "--bytes", "4M", "--selector", "openmpi"]) == 1
    assert "nothing: the rules of openmpi take 'linear_sync'" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["nonsense", "-p", "4"],
        ["allreduce", "-p", "4", "--op", "average"],
        ["allreduce", "-p", "0"],
        ["allreduce", "-p", "4", "--nodes", "5"],
    ],
)
def test_arguments_that_make_no_sense(words, capsys):
    assert main(["why", *words]) == 2
    assert capsys.readouterr().err.startswith("mpicoll: ")


def test_several_nodes_make_a_difference():
    nodes = (0, 0, 1, 1)
    for collective in ("allreduce", "reduce", "allgather", "reduce_scatter", "bcast"):
        there = decide("mpicoll", collective, 4, 64 * KIB, True, True, nodes)
        assert there.algorithm.name == "lane", collective
        assert "nodes" in there.reason
    assert decide("mpicoll", "alltoall", 4, 64, True, True, nodes).algorithm.name == "hierarchical"
    assert decide("mpicoll", "bcast", 4, MIB, True, True, nodes).algorithm.name == "hierarchical"


@pytest.mark.parametrize("nodes", [None, (0, 1, 2, 3), (0, 0, 0, 0), (0, 0, 0, 1)])
def test_nodes_that_make_no_difference(nodes):
    for collective in collectives():
        for nbytes in (8, 64 * KIB, 8 * MIB):
            without = decide("mpicoll", collective, 4, nbytes, True, True)
            assert decide("mpicoll", collective, 4, nbytes, True, True, nodes) == without
