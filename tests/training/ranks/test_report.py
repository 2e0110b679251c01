"""What the programs share: counting what is really sent, and checks that can fail."""

import common
import numpy as np
import pytest
from counting import ALGORITHMS, Group, Traffic, everybody

import mpicoll
from mpicoll.execution.state import State


@pytest.fixture
def traffic():
    traffic = Traffic()
    yield traffic
    traffic.close()


def start(comm, *words):
    return common.start("Test.\n", ["--json", "-", *words], comm)


def test_bytes_are_those_of_the_messages(comm, size, rank, traffic, monkeypatch):
    """Overlapping calls of several groups, and calls that come again, each to its own row."""
    seen = []
    first, second = (
        Group(mpicoll.Intracomm(comm.Dup()), name, traffic) for name in ("first", "second")
    )
    channel = type(first.state.channel).__mro__[1]

    def noting(sends):
        def send(self, spec, dest, tag, *rest):
            seen.append(len(memoryview(spec[0]).cast("B")))
            return sends(self, spec, dest, tag, *rest)

        return send

    for name in ("Send", "Isend", "Sendrecv"):
        monkeypatch.setattr(channel, name, noting(getattr(channel, name)))
    mine, total = np.ones(1000), np.zeros(1000)
    request = first.Iallreduce(mine, total)
    for _ in range(3):
        second.Bcast(mine, root=size - 1)
        first.Allgather(mine[:7], np.zeros(7 * size))
    request.Wait()
    assert (total == size).all()
    assert sum(nbytes for _, _, nbytes in traffic.rows.values()) == sum(seen)
    table = everybody(traffic, comm)
    assert {row: sums[0] for row, sums in table.items()} == {
        ("Allreduce", "first"): 1,
        ("Bcast", "second"): 3,
        ("Allgather", "first"): 3,
    }
    assert table["Allreduce", "first"][2] == 2 * (size - 1) * 8000
    assert table["Bcast", "second"][2] == 3 * (size - 1) * 8000
    assert table["Allgather", "first"][2] == 3 * (size - 1) * size * 56
    for group in (first, second):
        group.comm.Free()


def test_messages_of_the_program_are_counted(comm, size, rank, traffic):
    group = Group(mpicoll.Intracomm(comm), "ring", traffic)
    right, left = (rank + 1) % size, (rank - 1) % size
    got = np.zeros(5, np.float32)
    request = group.Isend(np.full(5, rank, np.float32), right)
    group.Recv(got, left)
    request.Wait()
    group.Sendrecv(got, right, recvbuf=got.copy(), source=left)
    assert (got == left).all()
    assert dict(traffic.rows) == {("Send", "ring"): [1, 1, 20], ("Sendrecv", "ring"): [1, 1, 20]}
    with pytest.raises(AttributeError, match="would not be counted"):
        group.allreduce(1)
    with pytest.raises(AttributeError, match="would not be counted"):
        group.Allreduce_init(got, got)
    with pytest.raises(ValueError, match="counted as 'ring' already"):
        Group(group.comm, "again", traffic)


def test_algorithms_send_the_least(comm, size):
    """Each algorithm's bytes over all ranks are P times the formula of `moved` or `everything`."""
    from mpicoll.registry import find
    from mpicoll.steps import Send

    for primitive, name in ALGORITHMS.items():
        collective = primitive.removesuffix("v").removesuffix("_block")
        algorithm = find(collective, name)
        sent = sum(
            len(step.chunk.blocks)
            for rank in range(size)
            for steps in algorithm.plan(rank, size, 0)
            for step in steps
            if isinstance(step, Send)
        )
        # In blocks of a vector of all of them; rooted algorithms do not cut it.
        blocks = algorithm.number_of_blocks(size, {})
        formula = common.everything if primitive == "allreduce" else common.moved
        ranks = 1 if collective in ("scatter", "gather") else size
        assert sent == ranks * formula(size, blocks), primitive


def finished(run):
    report = run.finish()
    assert isinstance(report["passed"], bool)
    return report


def test_a_run_passes_only_if_all_is_right(comm, capsys):
    run = start(comm)
    run.check("equal", [1.0, 2.0], [1.0, 2.0], 0, "")
    assert finished(run)["passed"]

    assert not finished(start(comm))["passed"]  # nothing was checked


@pytest.mark.parametrize(
    ("mine", "reference"),
    [([1.0], [1.1]), ([np.nan], [1.0]), ([1.0], [1.0, 1.0]), ({"a": [1.0]}, {"a": [2.0]})],
    ids=["other", "nan", "shape", "dictionary"],
)
def test_one_rank_that_differs_fails_all(comm, rank, size, mine, reference):
    run = start(comm)
    last = rank == size - 1
    run.check("something", mine if last else reference, reference, 1e-3, "")
    report = finished(run)
    assert not report["passed"]
    assert not report["checks"][0]["passed"]


@pytest.mark.parametrize("wrong", ["none", "bytes", "calls", "unforeseen", "missing"])
def test_traffic_must_be_foreseen(comm, size, wrong):
    run = start(comm)
    run.check("nothing", [], [], 0, "")
    run.world.Bcast(np.zeros(3))
    nbytes = common.moved(size, 24)
    if wrong != "unforeseen":
        calls = 2 if wrong == "calls" else 1
        run.expect("Bcast", run.world, nbytes + (wrong == "bytes"), "", calls)
    if wrong == "missing":
        run.expect("Gather", run.world, 8, "")
    assert finished(run)["passed"] == (wrong == "none")


def test_sizes_that_do_not_fit_end_with_a_sentence(comm, size, rank, capsys):
    take = State.take
    run = start(comm)
    with pytest.raises(SystemExit) as ended:
        run.mesh(tensor=size + 1)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert (f"but there are {size} ranks" in said) == (rank == 0)
    assert State.take is take  # nobody observes any more
