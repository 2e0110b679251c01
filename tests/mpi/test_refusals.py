"""Wrong calls: refused with a reason, before any message, and without putting ranks out of step."""

from functools import partial

import numpy as np
import pytest
from mpi4py import MPI
from support import Guarded, drain, raised

import mpicoll
from mpicoll.registry import RequirementError, algorithms_of, collectives


def refused(call, kinds=(Exception,), words=(), error_class=None):
    """The call raises one of `kinds`, with these words in its text and this class of MPI's."""
    error = raised(call)
    assert isinstance(error, tuple(kinds)), repr(error)
    for word in words:
        assert str(word) in str(error), f"{word!r} is not in {error}"
    if error_class is not None:
        assert error.Get_error_class() == error_class
    return error


def in_step(comm):
    """The next calls get their own data."""
    rank, size = comm.Get_rank(), comm.Get_size()
    comm.Allreduce(np.array([rank + 1]), total := np.zeros(1, "i8"))
    assert total[0] == size * (size + 1) // 2
    for root in range(size):
        comm.Bcast(b := np.array([rank + 100]), root)
        assert b[0] == root + 100


def test_two_sides_that_do_not_fit(ours, rank, size):
    four, three, half, ints = np.ones(4), np.zeros(3), np.zeros(4, "f4"), np.zeros(4, "i8")
    for call in (ours.Allreduce, ours.Scan, ours.Exscan):
        refused(partial(call, four, half), [ValueError], ["MPI_DOUBLE", "MPI_FLOAT"])
        refused(partial(call, four, ints), [ValueError])
        refused(partial(call, four, three), [ValueError], [4, 3])
        refused(partial(call, [four, 2], four[:0]), [ValueError])
    wide = np.ones(2 * size)
    refused(lambda: ours.Reduce_scatter_block(wide, np.zeros(3)), [ValueError])
    refused(lambda: ours.Reduce_scatter_block(wide, np.zeros(2, "f4")), [ValueError])
    refused(lambda: ours.Reduce_scatter(wide, np.zeros(2), [2] * (size - 1) + [3]), [ValueError])
    refused(lambda: ours.Reduce_scatter(wide, np.zeros(5), [2] * size), [ValueError])
    refused(lambda: ours.Reduce_scatter(wide, np.zeros(2), [2] * (size + 1)), [ValueError])
    refused(lambda: ours.Reduce_scatter(wide, np.zeros(2), [-1] * size), [ValueError])
    refused(lambda: ours.Allgather(np.ones(2), np.zeros(3 * size)), words=[16, 24])
    refused(lambda: ours.Allgatherv(np.ones(1), [np.zeros(size + 1), [1] * (size + 1)]))
    refused(lambda: ours.Alltoall(wide, np.zeros(3 * size)))
    refused(lambda: ours.Alltoallv([wide, [2] * (size + 1)], [wide.copy(), [2] * size]))
    if size > 1:
        refused(lambda: ours.Allgather(np.ones(2), np.zeros(2 * size + 1)), [ValueError])
        refused(lambda: ours.Alltoall(np.ones(2 * size + 1), np.zeros(2 * size + 1)))
    assert not three.any() and not half.any() and not ints.any()
    in_step(ours)


def test_errors_have_the_class_that_mpi_gives_them(ours, rank, size):
    x = np.zeros(3)
    both = [MPI.Exception, ValueError]
    counts = [*[0] * (size - 1), -2]
    for kind in both:
        refused(lambda: ours.Bcast(x, size), [kind], [f"0..{size - 1}", size], MPI.ERR_ROOT)
        refused(lambda: ours.Gather(x, None, -7), [kind], [-7], MPI.ERR_ROOT)
        refused(lambda: ours.Scatter(None, x, MPI.PROC_NULL), [kind], error_class=MPI.ERR_ROOT)
        refused(lambda: ours.Reduce(x, None, MPI.SUM, size), [kind], error_class=MPI.ERR_ROOT)
        refused(lambda: ours.Bcast([x, -1]), [kind], [-1], MPI.ERR_COUNT)
        refused(lambda: ours.Allgatherv(x, [x, counts]), [kind], [-2], MPI.ERR_COUNT)
        refused(lambda: ours.Alltoallv([x, counts], [x, counts]), [kind], [], MPI.ERR_COUNT)
        refused(lambda: ours.Allreduce(x, MPI.IN_PLACE), [kind], ["IN_PLACE"], MPI.ERR_BUFFER)
        refused(lambda: ours.Bcast(MPI.IN_PLACE), [kind], ["IN_PLACE"], MPI.ERR_BUFFER)
        refused(lambda: ours.Allreduce(x, x), [kind], ["overlap", "IN_PLACE"], MPI.ERR_BUFFER)
        refused(lambda: ours.Allreduce(x, x.copy(), MPI.BAND), [kind], ["BAND"], MPI.ERR_OP)
        refused(lambda: ours.Allreduce(x, x.copy(), MPI.OP_NULL), [kind], [], MPI.ERR_OP)
    refused(lambda: ours.Bcast(x, 0.5), [TypeError], ["float"])
    refused(lambda: ours.Bcast(x, "0"), [TypeError], ["str"])
    refused(lambda: ours.Allreduce(x, x.copy(), max), [TypeError])
    refused(lambda: ours.Allreduce([1, 2, 3, 4, 5], x), [ValueError, TypeError])
    refused(lambda: ours.Allreduce(x, None), [TypeError])
    refused(lambda: ours.Bcast(17), [TypeError], ["int"])
    in_step(ours)


def test_overlapping_memory_is_refused(ours, rank, size):
    m = Guarded(4 * size, "f8")
    a = m.array
    n = 2 * size
    for call in (
        lambda: ours.Allreduce(a[:n], a[n - 1 : 2 * n - 1]),
        lambda: ours.Scan(a[1 : n + 1], a[:n]),
        lambda: ours.Allgather(a[:2], a[:n]),
        lambda: ours.Allgather(a[2 * rank :][:2], a[:n]),
        lambda: ours.Alltoall(a[:n], a[:n]),
        lambda: ours.Alltoallv([a[:n], [2] * size], [a[1 : n + 1], [2] * size]),
        lambda: ours.Reduce_scatter_block(a[:n], a[:2]),
        lambda: ours.Gather(a[:2], a[:n], rank),  # every rank for itself: none sends
        lambda: ours.Scatter(a[:n], a[:2], rank),
        lambda: ours.Reduce(a[:n], a[:n], MPI.SUM, rank),
    ):
        refused(call, [MPI.Exception], error_class=MPI.ERR_BUFFER)
    assert m.untouched
    # Neighbours do not overlap.
    a[:] = rank
    ours.Allreduce(a[:n], a[n : 2 * n])
    assert (a[n : 2 * n] == size * (size - 1) / 2).all()
    in_step(ours)


def call_of(comm, collective):
    """A correct call of a collective, to which keywords can be added."""
    rank, size = comm.Get_rank(), comm.Get_size()
    x, y, wide, wider = np.ones(2), np.zeros(2), np.ones(2 * size), np.zeros(2 * size)
    return {
        "barrier": lambda **k: comm.Barrier(**k),
        "bcast": lambda **k: comm.Bcast(x, 0, **k),
        "reduce": lambda **k: comm.Reduce(x, y if rank == 0 else None, root=0, **k),
        "allreduce": lambda **k: comm.Allreduce(x, y, **k),
        "gather": lambda **k: comm.Gather(x, wider if rank == 0 else None, 0, **k),
        "scatter": lambda **k: comm.Scatter(wide if rank == 0 else None, y, 0, **k),
        "allgather": lambda **k: comm.Allgather(x, wider, **k),
        "alltoall": lambda **k: comm.Alltoall(wide, wider, **k),
        "reduce_scatter": lambda **k: comm.Reduce_scatter_block(wide, y, **k),
        "scan": lambda **k: comm.Scan(x, y, **k),
        "exscan": lambda **k: comm.Exscan(x, y, **k),
    }[collective]


@pytest.mark.parametrize("collective", collectives())
def test_unknown_algorithms_parameters_and_requirements(ours, rank, size, collective):
    call = call_of(ours, collective)
    known = algorithms_of(collective)
    names = [a.name for a in known]
    refused(partial(call, algorithm="rinng"), [ValueError], [collective, "rinng", *names])
    refused(partial(call, algorithm=""), [ValueError])
    for algorithm in known:
        unmet = algorithm.unmet(size)
        if unmet:
            refused(partial(call, algorithm=algorithm.name), [RequirementError], [*unmet, size])
        else:
            refused(
                partial(call, algorithm=algorithm.name, colour=1),
                [TypeError],
                ["colour", algorithm],
            )
            for name, default in algorithm.parameters.items():
                if isinstance(default, int):
                    for wrong in (0, -1, 1.5, "two"):
                        refused(
                            partial(call, algorithm=algorithm.name, **{name: wrong}),
                            [ValueError, TypeError],
                            [name],
                        )
    in_step(ours)


def test_algorithms_that_need_commuting_operations_say_so(ours, rank, size):
    op = MPI.Op.Create(lambda a, b, t: None, commute=False)
    x, y, wide = np.ones(2), np.zeros(2), np.ones(2 * size)
    calls = {
        "allreduce": lambda **k: ours.Allreduce(x, y, op, **k),
        "reduce": lambda **k: ours.Reduce(x, y if rank == 0 else None, op, 0, **k),
        "reduce_scatter": lambda **k: ours.Reduce_scatter_block(wide, y, op, **k),
        "scan": lambda **k: ours.Scan(x, y, op, **k),
        "exscan": lambda **k: ours.Exscan(x, y, op, **k),
    }
    for collective, call in calls.items():
        for algorithm in algorithms_of(collective):
            if algorithm.order == "commutative":
                refused(
                    partial(call, algorithm=algorithm.name), [RequirementError], ["commutative"]
                )
    op.Free()
    in_step(ours)


def test_algorithms_that_need_equal_blocks_say_so(ours, rank, size):
    counts = [r + 1 for r in range(size)]
    total = sum(counts)
    x, y = np.ones(counts[rank]), np.zeros(total)
    calls = {
        "gather": lambda **k: ours.Gatherv(x, [y, counts] if rank == 0 else None, 0, **k),
        "scatter": lambda **k: ours.Scatterv([y, counts] if rank == 0 else None, x, 0, **k),
        "alltoall": lambda **k: ours.Alltoallv([np.ones(size), [1] * size], [y, [1] * size], **k),
    }
    for collective, call in calls.items():
        for algorithm in algorithms_of(collective):
            if "equal_blocks" in algorithm.requires:
                refused(
                    partial(call, algorithm=algorithm.name), [RequirementError], ["equal_blocks"]
                )
            elif not algorithm.unmet(size, equal_blocks=False):
                call(algorithm=algorithm.name)
    in_step(ours)


def test_the_environment_may_name_an_algorithm(comm, rank, size, monkeypatch):
    from mpicoll.selection import forget

    forget()
    monkeypatch.setenv("MPICOLL_BCAST", "linear")
    ours = mpicoll.wrap(comm)
    in_step(ours)
    forget()
    monkeypatch.setenv("MPICOLL_BCAST", "no such")
    refused(lambda: ours.Bcast(np.ones(1)), [ValueError], ["no such", "linear"])
    monkeypatch.delenv("MPICOLL_BCAST")
    forget()
    in_step(ours)


strided = np.zeros(6)[::2]


def one_sided_calls(comm, number):
    """Calls of which one rank can be left out without stopping the others, for small messages.

    Each: who may fail, the call with the wrong argument, and the right call.
    """
    rank, size = comm.Get_rank(), comm.Get_size()
    x = np.full(3, 1000.0 * number + rank)
    y, wide, wider = np.full(3, -1.0), np.tile(x, size), np.full(3 * size, -1.0)
    last = size - 1
    return {
        "receiver of a broadcast": (
            0,
            lambda: comm.Bcast(strided, last, algorithm="linear"),
            lambda: comm.Bcast(x, last, algorithm="linear"),
        ),
        "root of a gathering": (
            0,
            lambda: comm.Gather(x, np.zeros(3 * size + 1), 0, algorithm="linear"),
            lambda: comm.Gather(x, wider if rank == 0 else None, 0, algorithm="linear"),
        ),
        "root of a reduction": (
            last,
            lambda: comm.Reduce(x, np.zeros(2), MPI.SUM, last, algorithm="linear"),
            lambda: comm.Reduce(x, y if rank == last else None, MPI.SUM, last, algorithm="linear"),
        ),
        "receiver of a scattering": (
            0,
            lambda: comm.Scatter(None, strided, last, algorithm="linear"),
            lambda: comm.Scatter(wide if rank == last else None, y, last, algorithm="linear"),
        ),
        "last of a chain": (
            last,
            lambda: comm.Scan(x, np.zeros(4), algorithm="linear"),
            lambda: comm.Scan(x, y, algorithm="linear"),
        ),
    }


def test_a_call_refused_on_one_rank_does_not_spoil_the_next(comm, ours, rank, size):
    """The others' messages wait for a call that never comes; no later call may take them."""
    if size == 1:
        pytest.skip("one rank fails alone")
    linear = {a.collective for c in collectives() for a in algorithms_of(c) if a.name == "linear"}
    for number in range(3):
        for title, (who, wrong, right) in one_sided_calls(ours, number).items():
            if title == "last of a chain" and "scan" not in linear:
                continue
            if rank == who:
                refused(wrong)
            else:
                right()
            # The same call again, with other data: old messages are of its kind and size.
            for again in (10, 20):
                x = np.full(3, 100.0 * again + rank)
                b = np.full(3, x[0] if rank == size - 1 else -1.0)
                ours.Bcast(b, size - 1, algorithm="linear")
                assert (b == 100 * again + size - 1).all(), title
                box = np.full((size, 3), -1.0)
                ours.Gather(x, box if rank == 0 else None, 0, algorithm="linear")
                assert rank or np.array_equal(box[:, 0], 100 * again + np.arange(size)), title
                ours.Scan(x, s := np.zeros(3))
                assert (s == 100 * again * (rank + 1) + rank * (rank + 1) / 2).all(), title
            in_step(ours)
    # What lies about would reach a later communicator that MPI gives the same number.
    comm.Barrier()
    drain(ours)
    comm.Barrier()
    in_step(ours)


def test_different_roots_or_lengths_do_not_reach_the_next_call(comm, ours, rank, size):
    """A program that is wrong gets wrong data in that call only."""
    if size == 1:
        pytest.skip("one rank agrees with itself")
    # Everybody takes itself for the root: everybody sends, nobody receives.
    ours.Bcast(np.full(2, float(rank)), rank, algorithm="linear")
    in_step(ours)
    ours.Scatter(np.full(2 * size, float(rank)), np.zeros(2), rank, algorithm="linear")
    in_step(ours)
    comm.Barrier()
    drain(ours)
