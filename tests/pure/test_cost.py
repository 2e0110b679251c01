"""Costs: declared against counted, lower bounds, closed forms, the fit of measurements."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpicoll.__main__ import main
from mpicoll.analysis.bounds import BOUNDS
from mpicoll.analysis.cost import Model, cost
from mpicoll.analysis.fit import fit_line, fit_pingpong
from mpicoll.analysis.network import Level, Network, NetworkError
from mpicoll.analysis.path import PATHS, closed_form, longest_path
from mpicoll.analysis.presets import PRESETS
from mpicoll.analysis.simulate import simulate
from mpicoll.analysis.workload import TooLargeError, read
from mpicoll.registry import algorithms_of, collectives, find

ALL = [algorithm for name in collectives() for algorithm in algorithms_of(name)]
FLAT = [algorithm for algorithm in ALL if "nodes" not in algorithm.parameters]

#: A link for each rank, both ways; nothing else: the alpha-beta-gamma model.
PLAIN = Network("plain", Level(0, 0, 0), Level(1e-5, 2e-6, 1e-9), ranks_per_node=1, reduce=1e-10)


def served(algorithm, size):
    return not set(algorithm.unmet(size)) - {"commutative"}


@pytest.mark.parametrize("algorithm", ALL, ids=str)
@pytest.mark.parametrize("size", [1, 2, 5, 8, 12])
def test_counted_is_declared(algorithm, size):
    if served(algorithm, size):
        found = cost(algorithm, size, 1000, PLAIN)
        assert found.agrees, (found.declared, found.counted)


def test_cost_of_the_ring_by_hand():
    found = cost(find("allreduce", "ring"), 4, 1000, PLAIN)
    assert found.counted == found.declared == (6, 1.5, 0.75)
    assert found.least == (2, 1.5, 0.75)
    assert found.ratios == (3, 1, 1)
    assert found.messages == 24
    assert found.seconds == pytest.approx(6 * 14e-6 + 1.5e-6 + 0.075e-6)
    assert found.path_seconds == pytest.approx(found.seconds)
    assert found.least_seconds == pytest.approx(2 * 14e-6 + 1.5e-6 + 0.075e-6)


def test_nothing_is_counted_for_a_million_ranks():
    found = cost(find("allreduce", "circulant"), 10**6, 2**30, PLAIN, count=False)
    assert found.declared.rounds == 40
    assert found.counted is None and found.agrees


@pytest.mark.parametrize("algorithm", FLAT, ids=str)
@pytest.mark.parametrize("size", [2, 3, 7, 8, 12, 16])
def test_nobody_sends_or_combines_less_than_the_bound(algorithm, size):
    if served(algorithm, size):
        _, sent, combined = algorithm.claims(size, {})
        bound = BOUNDS[algorithm.collective]
        assert sent >= bound.values(size)[1]
        assert combined >= bound.combined(size)


@pytest.mark.parametrize(
    ("collective", "name"),
    [
        ("allreduce", "ring"),
        ("allreduce", "circulant"),
        ("allgather", "bruck"),
        ("reduce_scatter", "circulant"),
        ("exscan", "one_two_three_doubling"),
        ("bcast", "binomial"),
    ],
)
@pytest.mark.parametrize("size", range(2, 40))
def test_single_messages_need_the_rounds_of_the_bound(collective, name, size):
    rounds, _, _ = find(collective, name).claims(size, {})
    assert rounds >= BOUNDS[collective].values(size)[0]


@pytest.mark.parametrize(
    ("collective", "name"),
    [
        ("allreduce", "ring"),
        ("allreduce", "circulant"),
        ("allreduce", "segmented_ring"),
        ("reduce_scatter", "ring"),
        ("reduce_scatter", "pairwise"),
        ("allgather", "ring"),
        ("allgather", "bruck"),
        ("alltoall", "pairwise"),
        ("barrier", "dissemination"),
        ("bcast", "chain"),
        ("reduce", "chain"),
        ("scan", "linear"),
    ],
)
@pytest.mark.parametrize("size", [1, 2, 3, 8, 13, 16])
def test_closed_form_is_the_simulation(collective, name, size):
    algorithm = find(collective, name)
    closed = closed_form(algorithm, size, 10**6, PLAIN)
    assert simulate(algorithm, size, 10**6, PLAIN).seconds == pytest.approx(closed, rel=1e-9)


@pytest.mark.parametrize("size", [2, 4, 8, 16, 32])
@pytest.mark.parametrize("name", ["recursive_doubling", "rabenseifner", "swing", "bine"])
def test_closed_form_is_the_simulation_for_powers_of_two(name, size):
    algorithm = find("allreduce", name)
    closed = closed_form(algorithm, size, 10**6, PLAIN)
    assert simulate(algorithm, size, 10**6, PLAIN).seconds == pytest.approx(closed, rel=1e-9)


@pytest.mark.parametrize("algorithm", FLAT, ids=str)
@pytest.mark.parametrize("nbytes", [0, 10**5, 10**8])
def test_no_run_takes_much_longer_than_the_closed_form(algorithm, nbytes):
    for size in (2, 3, 5, 8, 9, 16, 23):
        if served(algorithm, size):
            closed = closed_form(algorithm, size, nbytes, PLAIN)
            assert simulate(algorithm, size, nbytes, PLAIN).seconds <= 1.3 * closed


def test_paths_are_those_of_algorithms():
    for collective, paths in PATHS.items():
        for name in paths:
            find(collective, name)


def test_a_chain_is_longer_than_its_busiest_rank():
    chain = find("bcast", "chain")
    assert chain.claims(10, {})[0] == 2
    assert longest_path(chain, 10, {}) == (9, 9, 0, 9)


def test_model_of_ranks_that_share_processors():
    network = Network("n", Level(1e-6, 1e-6, 1e-9), cores=2, reduce=1e-10)
    assert Model.of(network, 2) == pytest.approx((3e-6, 1e-9, 1e-10))
    assert Model.of(network, 8) == pytest.approx((9e-6, 4e-9, 4e-10))


def test_reading_stops_at_the_limit():
    with pytest.raises(TooLargeError, match="more than 10 messages"):
        read(find("alltoall", "linear"), 8, limit=10)


@given(
    st.floats(1e-7, 1e-3),
    st.floats(1e-11, 1e-7),
    st.lists(st.integers(0, 10**8), min_size=2, max_size=12, unique=True),
)
def test_a_line_is_fitted_exactly(alpha, beta, sizes):
    rows = [(n, alpha + beta * n) for n in sizes]
    for n, seconds in rows:
        start, slope = fit_line(rows)
        assert start + slope * n == pytest.approx(seconds, rel=1e-3)


def test_fit_of_a_pingpong():
    rows = [(n, 4e-6 + n * 2e-10) for n in (8, 1024, 2**20)]
    fit = fit_pingpong(rows)
    assert fit.level.alpha == pytest.approx(4e-6)
    assert fit.level.overhead == pytest.approx(1e-6)
    assert fit.level.latency == pytest.approx(2e-6)
    assert fit.level.per_byte == pytest.approx(2e-10)
    assert fit.error < 1e-9
    assert fit_pingpong(rows, overhead=5e-7).level.latency == pytest.approx(3e-6)


def test_a_fit_is_never_negative():
    assert fit_line([(0, 2e-6), (1000, 1e-6)])[1] == 0
    assert fit_line([(1000, 1e-9), (2000, 1e-6)])[0] == 0


@pytest.mark.parametrize(
    "rows",
    [[], [(8, 1e-6)], [(8, 1e-6), (8, 2e-6)], [(8, 0), (16, 1)], [(8, float("nan")), (1, 1)]],
)
def test_rows_that_cannot_be_fitted(rows):
    with pytest.raises(NetworkError):
        fit_pingpong(rows)


def test_the_command(capsys, tmp_path):
    path = tmp_path / "costs.json"
    words = ["cost", "allreduce", "ring", "-p", "64", "--bytes", "1M", "--json", str(path)]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "126 = 126" in out and "1.969 = 1.969" in out
    (found,) = json.loads(path.read_text())["costs"]
    assert found["ratios"] == {"rounds": 21.0, "sent": 1.0, "combined": 1.0}


@pytest.mark.parametrize(
    "words",
    [
        ["-p", "0", "--bytes", "8"],
        ["-p", "4", "--bytes", "-8"],
        ["-p", "4", "--bytes", "8 parsecs"],
        ["-p", "4", "--bytes", "8", "--network", "no-such-network"],
        ["allreduce", "ring", "-p", "4", "--bytes", "8", "--set", "segments=2"],
        ["allreduce", "-p", "4", "--bytes", "8", "--set", "segments=2"],
        ["bcast", "pipelined", "-p", "4", "--bytes", "8", "--set", "segments=0"],
        ["bcast", "-p", "4", "--bytes", "8", "--root", "4"],
    ],
)
def test_arguments_that_make_no_sense(words, capsys):
    assert main(["cost", *words]) == 2
    error = capsys.readouterr().err
    assert error.startswith("mpicoll: ") and error.count("\n") == 1


def test_presets_are_complete():
    for name, preset in PRESETS.items():
        assert preset.name == name
        assert preset.level(64).alpha > 0
