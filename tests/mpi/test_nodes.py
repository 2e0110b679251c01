"""Which ranks share a node: found, overridden, inherited, and what algorithms make of it."""

import json

import numpy as np
import pytest
from mpi4py import MPI
from support import drain, raised, rows, values

import mpicoll
from mpicoll.nodes import VARIABLE, nodes_of, shape
from mpicoll.registry import algorithms_of, collectives, find


@pytest.fixture
def on(comm, monkeypatch):
    """Communicators of ours whose ranks are on nodes as the variable says."""
    made = []

    def make(text):
        monkeypatch.setenv(VARIABLE, text)
        made.append(mpicoll.Intracomm(comm.Dup()))
        return made[-1]

    yield make
    for each in made:
        each.Free()


def test_ranks_of_one_host_share_a_node(ours, comm, size):
    hosts = comm.allgather(MPI.Get_processor_name())
    names = list(dict.fromkeys(hosts))
    assert nodes_of(ours) == tuple(names.index(host) for host in hosts)
    assert nodes_of(comm) == nodes_of(ours)


def test_the_variable_says_otherwise(on, size):
    assert nodes_of(on("one")) == (0,) * size
    assert nodes_of(on("2")) == tuple(rank // 2 for rank in range(size))
    given = [7 * (rank % 3) for rank in range(size)]
    nodes = nodes_of(on(",".join(map(str, given)))) if size > 1 else (0,)
    assert nodes == tuple(rank % 3 for rank in range(size))
    assert json.loads(json.dumps(nodes)) == list(nodes)


def test_a_split_keeps_the_nodes_of_its_ranks(on, rank, size):
    ours = on("2")
    half = ours.Split(rank % 2, -rank)
    members = [r for r in reversed(range(size)) if r % 2 == rank % 2]
    assert nodes_of(half) == tuple(range(len(members)))
    half.Free()
    copy, request = ours.Idup()
    request.Wait()
    assert nodes_of(copy) == nodes_of(ours)
    copy.Free()


def test_nonsense_is_refused(comm, size, monkeypatch):
    for text in ("hsots", "1,2,x", ",".join(["0"] * 99), *["0", "-1"][: size - 1]):
        monkeypatch.setenv(VARIABLE, text)
        with pytest.raises(ValueError, match="MPICOLL_NODES is hosts, one, "):
            mpicoll.Intracomm(comm.Dup()).state  # noqa: B018


def test_algorithms_use_the_nodes_in_every_form(on, rank, size):
    ours = on("2")
    chosen = []
    for name in collectives():
        for algorithm in algorithms_of(name):
            if "nodes" in algorithm.parameters:
                found = ours.state.placed(algorithm, {})
                assert found.get("nodes") == (ours.state.nodes if size > 2 else None)
                assert ours.state.placed(algorithm, {"nodes": None}) == {"nodes": None}
                chosen.append(str(algorithm))
    assert "allreduce hierarchical" in chosen
    mine, total = values(rank, 50), np.zeros(50, "i8")
    expected = rows(size, 50).sum(0)
    ours.Allreduce(mine, total, algorithm="hierarchical")
    assert (total == expected).all()
    total[:] = 0
    ours.Iallreduce(mine, total, algorithm="hierarchical").Wait()
    assert (total == expected).all()
    assert ours.allreduce(rank, algorithm="hierarchical") == sum(range(size))
    assert ours.bcast(rank, root=size - 1, algorithm="hierarchical") == size - 1


def test_messages_are_those_of_the_real_nodes(on, rank, size):
    ours = on("2")
    log, channel = [], ours.state.channel

    class Noting(type(channel)):
        def Sendrecv(self, data, dest, *rest):
            log.append(dest)
            return super().Sendrecv(data, dest, *rest)

        def Send(self, data, dest, *rest):
            log.append(dest)
            return super().Send(data, dest, *rest)

    ours.state.channel = Noting(channel)
    ours.Allreduce(values(rank, 50), np.zeros(50, "i8"), algorithm="hierarchical")
    ours.state.channel = channel
    plan = find("allreduce", "hierarchical").plan(rank, size, nodes=ours.state.nodes)
    assert log == [step.peer for steps in plan for step in steps if type(step).__name__ == "Send"]
    if rank % 2:  # no leader
        assert set(log) <= {rank - 1}


def test_unequal_nodes_are_refused_on_all_ranks(on, rank, size):
    ours = on("2")
    error = raised(ours.Allreduce, values(rank, 8), np.zeros(8, "i8"), algorithm="lane")
    if size % 2 and size > 2:
        assert isinstance(error, mpicoll.RequirementError) and "equal_nodes" in str(error)
    else:
        assert error is None
    drain(ours)


def test_shape():
    assert shape((0, 0, 0, 1, 2, 2), 6) == "1x3+1x1+1x2"


@pytest.mark.parametrize("count", [2, 10_000])
def test_what_is_chosen_on_several_nodes_is_right(on, rank, size, count):
    ours = on("2")
    x = np.arange(count, dtype="f8") + rank
    total = size * np.arange(count, dtype="f8") + size * (size - 1) / 2
    y = np.zeros(count)
    ours.Allreduce(x, y)
    assert (y == total).all()
    ours.Reduce(x, y, root=size - 1)
    everyone = np.zeros((size, count))
    ours.Allgather(x, everyone)
    assert (everyone == np.arange(count) + np.arange(size)[:, None]).all()
    block = np.zeros(count)
    ours.Reduce_scatter_block(np.tile(x, size), block)
    assert (block == total).all()
    exchanged = np.zeros((size, count))
    ours.Alltoall(np.tile(x, (size, 1)), exchanged)
    assert (exchanged == everyone).all()
    for n in (count, 100 * count):
        z = np.full(n, float(rank))
        ours.Bcast(z, root=size - 1)
        assert (z == size - 1).all()
