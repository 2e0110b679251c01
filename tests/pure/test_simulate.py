"""Simulation: small cases by hand, properties, networks from files."""

import json
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mpicoll.__main__ import main
from mpicoll.analysis.critical import critical_path, shares
from mpicoll.analysis.network import Level, Network, NetworkError, load, network, parse
from mpicoll.analysis.presets import PRESETS
from mpicoll.analysis.simulate import SimulationError, simulate
from mpicoll.registry import algorithm, algorithms_of, collectives, find, forget
from mpicoll.steps import Copy, Input, Output, Recv, Send

#: Latency 10, overhead 1, a byte takes 1, a combined byte 2, a copied one 4: for sums by hand.
HAND = Network("hand", Level(1, 1, 1), Level(10, 1, 1), ranks_per_node=1, reduce=2, copy=4)
ALL = [algorithm for name in collectives() for algorithm in algorithms_of(name)]


@pytest.fixture
def exchange():
    """Adds algorithms to try out, and takes them away again."""
    added = []

    def add(generate):
        add_it = algorithm("alltoall", rounds="1", volume="m")(generate)
        added.append(add_it)
        return add_it

    yield add
    for one in added:
        forget("alltoall", one.name)


def test_one_message():
    found = simulate(find("bcast", "binomial"), 2, 5, HAND)
    # The root is through when its bytes have left; the other pays overhead, latency, bytes.
    assert found.finish == [1 + 5, 1 + 10 + 5 + 1]
    assert found.traffic["switch"] == (1, 5.0)
    assert found.links == {("nic out", 0, 0): 5.0, ("nic in", 1, 0): 5.0}


def test_an_allreduce_of_two():
    found = simulate(find("allreduce", "recursive_doubling"), 2, 5, HAND)
    assert found.finish == [1 + 10 + 5 + 1 + 2 * 5] * 2


def test_two_messages_share_the_receivers_link():
    found = simulate(find("gather", "linear"), 3, 30, HAND)
    # Two blocks of 10 bytes leave at the same time; the second waits for the first to be in. While
    # it comes in, the overhead of the first is paid. The root copies its own block of 10 bytes.
    assert found.finish == [1 + 10 + 10 + 10 + 1 + 4 * 10, 11, 11]


def test_ranks_of_a_node_share_its_card():
    ring = find("alltoall", "pairwise")
    alone = simulate(ring, 4, 400, HAND)
    assert alone.seconds == 4 * 100 + 3 * (1 + 10 + 100 + 1)
    shared = replace(HAND, ranks_per_node=2)
    found = simulate(ring, 4, 400, shared)
    # Within the node first: 1 + 1 + 100 + 1. Then twice two messages of 100 bytes leave by one
    # card: the one that comes second leaves at 200 and is in at 1 + 10 + 200 + 1.
    assert found.traffic == {"node": (4, 400.0), "switch": (8, 800.0), "global": (0, 0.0)}
    assert found.seconds >= 400 + 103 + 212 + 100 + 12
    assert found.links["nic out", 0, 0] == 400
    two_cards = simulate(ring, 4, 400, replace(shared, links=2))
    assert two_cards.seconds == 400 + 103 + 2 * 112


def test_one_card_by_hand(exchange):
    @exchange
    def across(rank: int, size: int):
        """Ranks 0 and 1 send to ranks 2 and 3."""
        yield Send(rank + 2, Input[0]) if rank < 2 else Recv(rank - 2, Output[0])

    found = simulate(across, 4, 400, replace(HAND, ranks_per_node=2))
    assert found.finish == [1 + 100, 1 + 200, 1 + 10 + 100 + 1, 1 + 10 + 200 + 1]
    step = critical_path(found)[-1]
    assert (step.kind, step.rank, step.peer) == ("message", 1, 3)
    assert (step.transfer, step.waiting) == (100, 100)


def test_gap_between_messages():
    linear = find("bcast", "linear")
    found = simulate(linear, 3, 1, replace(HAND, inter=Level(10, 1, 1, gap=50)))
    assert found.finish == [52, 1 + 10 + 1 + 1, 51 + 10 + 1 + 1]


def test_uplinks_of_leaf_switches():
    tree = replace(HAND, nodes_per_switch=2, uplinks=1, switch_latency=5)
    found = simulate(find("alltoall", "pairwise"), 4, 4, tree)
    assert found.traffic == {"node": (0, 0.0), "switch": (4, 4.0), "global": (8, 8.0)}
    assert found.links["uplink", 0, 0] == 4
    assert found.seconds > simulate(find("alltoall", "pairwise"), 4, 4, HAND).seconds


def test_memory_is_half_duplex():
    network = Network("m", Level(1, 0, 1, duplex=False))
    assert simulate(find("bcast", "binomial"), 2, 100, network).seconds == 101
    both = simulate(find("allreduce", "recursive_doubling"), 2, 100, network)
    assert both.seconds == 200


def test_processors_shared_by_ranks():
    network = Network("m", Level(1, 1, 1), cores=1)
    assert simulate(find("bcast", "binomial"), 2, 10, network).seconds == 2 + 1 + 20 + 2


def test_rendezvous_by_hand(exchange):
    @exchange
    def late(rank: int, size: int):
        """Rank 1 copies before it receives."""
        if rank == 0:
            yield Send(1, Input[0])
        else:
            yield Copy(Input[0], Output[0])
            yield Recv(0, Output[0])

    # m = 20, a block is 10 bytes, its copy takes 40.
    eager = simulate(late, 2, 20, HAND)
    assert eager.finish == [11, 40 + 1]
    waits = simulate(late, 2, 20, replace(HAND, rendezvous=5))
    # The request is there at 11, the receive posted at 40, its answer back at 50.
    assert waits.finish == [60, 50 + 10 + 10 + 1]
    path = critical_path(waits)
    assert [step.kind for step in path] == ["local", "message"]
    assert (path[0].rank, path[0].end, path[1].end) == (1, 40, 71)
    assert simulate(late, 2, 20, replace(HAND, rendezvous=10)).finish == eager.finish


def test_critical_path_by_hand():
    path = critical_path(simulate(find("bcast", "chain"), 3, 5, HAND))
    assert [(s.kind, s.rank, s.peer, s.start, s.end) for s in path] == [
        ("message", 0, 1, 0, 17),
        ("message", 1, 2, 17, 34),
    ]
    assert shares(path) == {
        "overhead": 4,
        "latency": 20,
        "transfer": 10,
        "waiting": 0,
        "local": 0,
    }


def test_first_in_first_out(exchange):
    @exchange
    def twice(rank: int, size: int):
        """Two messages of different size on one way."""
        one, two = Input[0], Input[0, 1]
        if rank == 0:
            yield Send(1, one)
            yield Send(1, two)
        else:
            yield Recv(0, Output[0]), Recv(0, Output[0, 1])

    assert simulate(twice, 2, 20, HAND).traffic["switch"] == (2, 30.0)


def test_plans_that_do_not_fit(exchange):
    @exchange
    def unequal(rank: int, size: int):
        """Sent two blocks, received one."""
        yield Send(1, Input[0, 1]) if rank == 0 else Recv(0, Output[0])

    @exchange
    def stuck(rank: int, size: int):
        """Everybody waits."""
        yield Recv(1 - rank, Output[0])

    with pytest.raises(SimulationError, match="rank 0 sends 2 blocks to rank 1, which receives 1"):
        simulate(unequal, 2, 8, HAND)
    with pytest.raises(SimulationError, match="2 ranks never finish"):
        simulate(stuck, 2, 8, HAND)


@pytest.mark.parametrize("one", ALL, ids=str)
def test_the_path_takes_the_whole_time(one):
    for size, nodes in ((1, 1), (6, 3), (8, 2)):
        if set(one.unmet(size)) - {"commutative"}:
            continue
        for name in ("infiniband", "laptop"):
            chosen = PRESETS[name] if name == "laptop" else PRESETS[name].on(size, nodes)
            found = simulate(one, size, 10**5, chosen)
            path = critical_path(found)
            ends = [0.0, *(step.end for step in path)]
            assert ends[-1] == pytest.approx(found.seconds)
            assert [step.start for step in path] == pytest.approx(ends[:-1])
            assert sum(shares(path).values()) == pytest.approx(found.seconds)


SOME = [
    find("allreduce", "ring"),
    find("allreduce", "recursive_doubling"),
    find("bcast", "binomial"),
    find("alltoall", "pairwise"),
    find("allgather", "bruck"),
]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(SOME),
    st.integers(2, 9),
    st.integers(0, 10**6),
    st.sampled_from(["latency", "overhead", "per_byte", "reduce", "bytes"]),
    st.floats(1.0, 10.0),
)
def test_worse_networks_are_not_faster(one, size, nbytes, what, factor):
    # Without shared links and rendezvous, a later message never lets another one go first.
    assume(not set(one.unmet(size)) - {"commutative"})
    good = Network("good", Level(0, 0, 0), Level(1e-5, 1e-6, 1e-9), ranks_per_node=1, reduce=1e-10)
    bad, more = good, nbytes
    if what == "bytes":
        more = int(nbytes * factor)
    elif what == "reduce":
        bad = replace(good, reduce=good.reduce * factor)
    else:
        bad = replace(good, inter=replace(good.inter, **{what: getattr(good.inter, what) * factor}))
    before = simulate(one, size, nbytes, good).seconds
    assert simulate(one, size, more, bad).seconds >= before * (1 - 1e-12)


def test_the_same_again():
    runs = [simulate(find("alltoall", "linear"), 12, 5000, PRESETS["infiniband"]) for _ in "ab"]
    assert runs[0].finish == runs[1].finish
    assert runs[0].links == runs[1].links


def test_a_network_survives_json():
    for preset in PRESETS.values():
        assert parse(json.loads(json.dumps(preset.as_json()))) == preset


LEVEL = {"latency": 1e-6, "overhead": 1e-7, "per_byte": 1e-9}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "is an object"),
        ({}, "needs 'name', 'intra'"),
        ({"name": "n", "intra": {}}, "needs 'latency'"),
        ({"name": "n", "intra": LEVEL, "speed": 1}, "has no 'speed'"),
        ({"name": "n", "intra": {**LEVEL, "latency": -1}}, "'intra.latency' must be seconds"),
        ({"name": "n", "intra": {**LEVEL, "latency": "1"}}, "'intra.latency' must be seconds"),
        ({"name": "n", "intra": {**LEVEL, "latency": 1e9}}, "'intra.latency' must be seconds"),
        ({"name": "n", "intra": {**LEVEL, "duplex": 1}}, "'intra.duplex' must be true or false"),
        ({"name": "n", "intra": LEVEL, "links": 0}, "'links' must be a whole number"),
        ({"name": "n", "intra": LEVEL, "links": 1.5}, "'links' must be a whole number"),
        ({"name": "n", "intra": LEVEL, "links": True}, "'links' must be a whole number"),
        ({"name": "n" * 99, "intra": LEVEL}, "'name' must be a line"),
        ({"name": "n\n", "intra": LEVEL}, "'name' must be a line"),
        ({"name": "n", "intra": LEVEL, "ranks_per_node": 2}, "needs 'inter'"),
    ],
)
def test_bad_networks(data, message, tmp_path):
    path = tmp_path / "network.json"
    path.write_text(json.dumps(data))
    with pytest.raises(NetworkError, match=message):
        load(str(path))


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 10**4, '{"name": NaN}', "\udcff", '"' + "x" * 70000 + '"']
)
def test_files_that_are_no_networks(text, tmp_path):
    path = tmp_path / "network.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(NetworkError):
        load(str(path))


@pytest.mark.parametrize("value", ["1e400", "-1e400"])
def test_numbers_that_are_too_large(value, tmp_path):
    path = tmp_path / "network.json"
    path.write_text(f'{{"name": "n", "links": {value}, "intra": {{"latency": {value}}}}}')
    with pytest.raises(NetworkError):
        load(str(path))


def test_names_of_networks(tmp_path):
    assert network("laptop") is PRESETS["laptop"]
    with pytest.raises(NetworkError, match="presets: laptop"):
        network("nowhere")
    with pytest.raises(NetworkError, match="single node"):
        PRESETS["laptop"].on(8, 2)
    with pytest.raises(NetworkError, match="cannot fill"):
        PRESETS["infiniband"].on(8, 9)


def test_bad_calls():
    ring = find("allreduce", "ring")
    with pytest.raises(ValueError, match="one entry per rank"):
        simulate(ring, 4, 8, HAND, nodes=[0, 0])
    with pytest.raises(ValueError, match="bytes must be 0 or more"):
        simulate(ring, 4, -8, HAND)
    with pytest.raises(ValueError, match="single node"):
        simulate(ring, 4, 8, PRESETS["laptop"], nodes=[0, 0, 1, 1])


def test_the_command(capsys, tmp_path):
    path, wires = tmp_path / "out.json", tmp_path / "network.json"
    wires.write_text(json.dumps(HAND.as_json()))
    words = ["bcast", "binomial", "-p", "8", "--bytes", "5", "--root", "3", "--json", str(path)]
    assert main(["simulate", *words, "--network", str(wires)]) == 0
    assert "critical path" in capsys.readouterr().out
    found = json.loads(path.read_text())
    assert found["seconds"] == 3 * 17
    assert len(found["critical_path"]) == 3
    assert found["traffic"]["switch"] == {"messages": 7, "bytes": 35.0}


def test_the_command_places_ranks(capsys):
    words = ["simulate", "allreduce", "ring", "-p", "8", "--bytes", "8M", "--nodes", "2"]
    seconds = []
    for placement in ("block", "cyclic"):
        out = [*words, "--network", "ethernet-1g", "--placement", placement, "--json", "-"]
        assert main(out) == 0
        seconds.append(json.loads(capsys.readouterr().out)["seconds"])
    assert seconds[1] > 2 * seconds[0]


@pytest.mark.parametrize(
    "words",
    [
        ["allreduce", "nix", "-p", "4", "--bytes", "8"],
        ["allreduce", "swing", "-p", "6", "--bytes", "8"],
        ["allreduce", "ring", "-p", "6", "--bytes", "8", "--nodes", "7"],
        ["alltoall", "linear", "-p", "64", "--bytes", "8", "--most-messages", "100"],
    ],
)
def test_arguments_that_make_no_sense(words, capsys):
    assert main(["simulate", *words, "--network", "infiniband"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("mpicoll: ") and error.count("\n") == 1
