"""How much is moved: nothing, less than one element a rank, odd numbers, gaps, very much."""

import time

import numpy as np
import pytest
from mpi4py import MPI
from support import GUARD, Guarded, rows, serving, values

import mpicoll


def test_nothing_to_move_is_a_call_nevertheless(ours, rank, size):
    z, w, zeros = np.zeros((0, 3)), np.zeros((0, 3)), [0] * size
    nothing = {
        "bcast": lambda **k: ours.Bcast(z, size - 1, **k),
        "reduce": lambda **k: ours.Reduce(z, w if rank == 0 else None, root=0, **k),
        "allreduce": lambda **k: ours.Allreduce(z, w, **k),
        "gather": lambda **k: ours.Gather(z, w if rank == 0 else None, 0, **k),
        "scatter": lambda **k: ours.Scatter(z if rank == 0 else None, w, 0, **k),
        "allgather": lambda **k: ours.Allgather(z, w, **k),
        "alltoall": lambda **k: ours.Alltoall(z, w, **k),
        "reduce_scatter": lambda **k: ours.Reduce_scatter_block(z, w, **k),
        "scan": lambda **k: ours.Scan(z, w, **k),
        "exscan": lambda **k: ours.Exscan(z, w, **k),
    }
    for collective, call in nothing.items():
        for algorithm in serving(collective, size):
            call(algorithm=algorithm)
    ours.Allreduce(MPI.IN_PLACE, z)
    ours.Allgather(MPI.IN_PLACE, z)
    ours.Alltoall(MPI.IN_PLACE, z)
    ours.Reduce_scatter(z, w, zeros)
    ours.Alltoallv([z, zeros], [w, zeros])
    ours.Allgatherv(z, [w, zeros])
    ours.Alltoallw([z, (zeros, zeros), [MPI.INT] * size], [w, (zeros, zeros), [MPI.INT] * size])
    ours.Bcast(bytearray(), 0)
    ours.Bcast([None, 0, MPI.INT], 0)


def test_some_have_nothing(ours, rank, size):
    # Rank r owns r rows: rank 0 has none, and takes part.
    own, counts = np.full((rank, 3), float(rank)), [3 * r for r in range(size)]
    want = np.concatenate([np.full((r, 3), float(r)) for r in range(size)])
    for algorithm in serving("allgather", size, equal_blocks=size == 1):
        out = Guarded(want.shape, "f8")
        ours.Allgatherv(own, [out.array, counts], algorithm=algorithm)
        assert out.holds(want), algorithm
    for root in range(size):
        out = Guarded(want.shape, "f8")
        ours.Gatherv(own, [out.array, counts] if rank == root else None, root)
        assert out.holds(want) if rank == root else out.untouched
        back = Guarded(own.shape, "f8")
        ours.Scatterv([want, counts] if rank == root else None, back.array, root)
        assert back.holds(own)
        # One has everything, the others nothing.
        only = [4 * (r == root) for r in range(size)]
        everything = Guarded(4, "f8")
        ours.Allgatherv(np.full(only[rank], 9.0), [everything.array, only])
        assert everything.holds(np.full(4, 9.0))
        part = Guarded(only[rank], "i8")
        ours.Reduce_scatter(values(rank, 4), part.array, only)
        assert part.holds(rows(size, 4).sum(0)[: only[rank]])


def lengths(size):
    return sorted({1, size - 1, size, size + 1, 1009} - {0})


@pytest.mark.parametrize("dtype", ("u1", "i4", "f8"))
def test_odd_numbers_of_elements_stay_inside_their_buffers(ours, rank, size, dtype):
    for n in lengths(size):
        every = rows(size, n, dtype)
        x, total = every[rank].copy(), every.sum(0, dtype=dtype)
        for algorithm in serving("allreduce", size):
            y = Guarded(n, dtype)
            ours.Allreduce(x, y.array, algorithm=algorithm)
            assert y.holds(total), (n, algorithm)
        for root in {0, size // 2, size - 1}:
            y = Guarded(n, dtype)
            ours.Reduce(x, y.array if rank == root else None, MPI.MAX, root)
            assert y.holds(every.max(0)) if rank == root else y.untouched
            y.array[:] = x
            ours.Bcast(y.array, root)
            assert y.holds(every[root])
        y = Guarded((size, n), dtype)
        ours.Allgather(x, y.array)
        assert y.holds(every)
        y = Guarded(n, dtype)
        ours.Reduce_scatter_block(np.tile(x, size), y.array)
        assert y.holds(total)
        ours.Scan(x, y.array)
        assert y.holds(every[: rank + 1].sum(0, dtype=dtype))


COUNTS = {
    "lists": list,
    "tuples": tuple,
    "numpy": np.array,
    "small numpy integers": lambda c: np.array(c, "i2"),
    "numpy scalars": lambda c: [np.int64(n) for n in c],
}


@pytest.mark.parametrize("kind", COUNTS)
def test_counts_and_displacements_with_gaps_out_of_order(ours, rank, size, kind):
    make, width = COUNTS[kind], 5
    counts = [(r * 2 + 1) % 4 for r in range(size)]
    counts[size // 2] = 0
    displs = [width * (size - 1 - r) for r in range(size)]  # from the back, with gaps
    c, d = make(counts), make(displs)
    own = values(rank, counts[rank])
    want = Guarded(width * size)
    for r in range(size):
        want.array[displs[r] :][: counts[r]] = values(r, counts[r])
    out = Guarded(width * size)
    ours.Allgatherv(own, [out.array, c, d, MPI.INT64_T])
    assert out.holds(want.array)
    out = Guarded(width * size)
    ours.Allgatherv(own, [out.array, (c, d), "i8"])
    assert out.holds(want.array)
    for root in range(size):
        out = Guarded(width * size)
        ours.Gatherv(own, [out.array, c, d, MPI.INT64_T] if rank == root else None, root)
        assert out.holds(want.array) if rank == root else out.untouched
        part = Guarded(counts[rank])
        spec = [want.array, c, d, MPI.INT64_T] if rank == root else [None, None, None, MPI.INT64_T]
        ours.Scatterv(spec, part.array, root)
        assert part.holds(own)


@pytest.mark.parametrize("direction", ("forwards", "backwards"))
def test_alltoallv_from_and_to_any_layout(ours, rank, size, direction):
    sign = 1 if direction == "forwards" else -1
    order = list(range(size))[::sign]
    sent = [(rank + 2 * peer) % 3 for peer in range(size)]
    received = [(peer + 2 * rank) % 3 for peer in range(size)]
    source, into, want = np.full(3 * size, -7), Guarded(4 * size), Guarded(4 * size)
    at, to = [3 * order[p] for p in range(size)], [4 * order[p] for p in range(size)]
    for p in range(size):
        source[at[p] :][: sent[p]] = 1000 * rank + 10 * p + np.arange(sent[p])
        want.array[to[p] :][: received[p]] = 1000 * p + 10 * rank + np.arange(received[p])
    for algorithm in serving("alltoall", size, equal_blocks=False):
        into = Guarded(4 * size)
        ours.Alltoallv(
            [source, sent, at, MPI.INT64_T],
            [into.array, np.array(received), np.array(to), "i8"],
            algorithm=algorithm,
        )
        assert into.holds(want.array), algorithm


EXCHANGES = {
    "an expert without tokens": lambda i, j, size: 0 if j == size - 1 else 2,
    "a rank without tokens": lambda i, j, size: 0 if i == 0 else 1 + j,
    "all to one expert": lambda i, j, size: 5 if j == size // 2 else 0,
    "one message": lambda i, j, size: 4 if (i, j) == (0, size - 1) else 0,
    "nothing": lambda i, j, size: 0,
    "uneven": lambda i, j, size: (3 * i + j) % 5,
    "to oneself": lambda i, j, size: 7 if i == j else 0,
    "one way round": lambda i, j, size: 3 if j == (i + 1) % size else 0,
    "long and short": lambda i, j, size: 3000 if (i + j) % size == 0 else 1,
}


@pytest.mark.parametrize("pattern", EXCHANGES)
def test_tokens_go_to_their_experts_and_come_home(ours, rank, size, pattern):
    rows_from, hidden = EXCHANGES[pattern], 3
    sent = [rows_from(rank, j, size) for j in range(size)]
    received = [rows_from(j, rank, size) for j in range(size)]
    tokens = np.empty((sum(sent), hidden), "f4")
    tokens[:] = (100 * rank + np.arange(sum(sent)) % 97)[:, None]
    token = MPI.FLOAT.Create_contiguous(hidden).Commit()
    there, back = Guarded((sum(received), hidden), "f4"), Guarded(tokens.shape, "f4")
    ours.Alltoallv([tokens, sent, None, token], [there.array, received, None, token])
    # The rows from j are those behind what j sends to the ranks before this one.
    firsts = [sum(rows_from(j, k, size) for k in range(rank)) for j in range(size)]
    want = [100 * j + (firsts[j] + k) % 97 for j in range(size) for k in range(received[j])]
    assert there.intact and there.array[:, 0].tolist() == want
    ours.Alltoallv([there.array, received, None, token], [back.array, sent, None, token])
    assert back.holds(tokens)
    # The same with plain numbers of elements.
    wide = [[hidden * n for n in counts] for counts in (sent, received)]
    again = Guarded(there.array.shape, "f4")
    ours.Alltoallv([tokens, wide[0]], [again.array, wide[1]])
    assert again.holds(there.array)
    token.Free()


def test_every_smaller_number_of_ranks(comm, rank, size):
    """Trees, rings and doublings with every remainder, on ranks in reverse order."""
    # Eight ranks need not do again what five did.
    for part in range(1 if size <= 5 else 5, size):
        members = comm.Split(0 if rank < part else MPI.UNDEFINED, -rank)
        if members != MPI.COMM_NULL:
            ours = mpicoll.wrap(members)
            assert (ours.Get_rank(), ours.Get_size()) == (part - 1 - rank, part)
            every_kind_of_call(ours, part - 1 - rank, part)
            ours.Free()


def every_kind_of_call(ours, r, p):
    for n in (1, 4099):
        x = np.arange(n) * (r + 1)
        for algorithm in serving("allreduce", p):
            ours.Allreduce(x, y := np.zeros_like(x), algorithm=algorithm)
            assert np.array_equal(y, np.arange(n) * (p * (p + 1) // 2)), algorithm
        ours.Scan(x, y)
        assert np.array_equal(y, np.arange(n) * ((r + 1) * (r + 2) // 2))
        for root in range(p):
            b = x.copy()
            ours.Bcast(b, root)
            assert np.array_equal(b, np.arange(n) * (root + 1))
        ours.Allgather(x, every := np.zeros((p, n), "i8"))
        assert np.array_equal(every, np.arange(n) * (np.arange(p)[:, None] + 1))
    ours.Alltoall(np.arange(3 * p) + 100 * r, t := np.zeros((p, 3), "i8"))
    assert np.array_equal(t, 100 * np.arange(p)[:, None] + 3 * r + np.arange(3))
    ours.Barrier()


def test_one_rank_alone_copies_locally():
    ours = mpicoll.wrap(MPI.COMM_SELF.Dup())
    x, doubles = np.arange(1.0, 5.0), [MPI.DOUBLE]
    calls = {
        "allreduce": lambda y, **k: ours.Allreduce(x, y, **k),
        "reduce": lambda y, **k: ours.Reduce(x, y, **k),
        "allgather": lambda y, **k: ours.Allgather(x, y, **k),
        "gather": lambda y, **k: ours.Gather(x, y, **k),
        "scatter": lambda y, **k: ours.Scatter(x, y, **k),
        "alltoall": lambda y, **k: ours.Alltoall(x, y, **k),
        "scan": lambda y, **k: ours.Scan(x, y, **k),
        "reduce_scatter": lambda y, **k: ours.Reduce_scatter_block(x, y, **k),
    }
    for collective, call in calls.items():
        for algorithm in serving(collective, 1):
            y = Guarded(4, "f8")
            call(y.array, algorithm=algorithm)
            assert y.holds(x), (collective, algorithm)
    for call in (
        lambda y: ours.Allgatherv(x, [y, [4]]),
        lambda y: ours.Gatherv(x, [y, [4]]),
        lambda y: ours.Scatterv([x, [4]], y),
        lambda y: ours.Alltoallv([x, [4]], [y, [4]]),
        lambda y: ours.Alltoallw([x, ([4], [0]), doubles], [y, ([4], [0]), doubles]),
        lambda y: ours.Reduce_scatter(x, y, [4]),
        lambda y: ours.Reduce_scatter(x, y),
    ):
        y = Guarded(4, "f8")
        call(y.array)
        assert y.holds(x)
    for name in ("Allreduce", "Scan", "Exscan", "Reduce_scatter_block", "Allgather", "Alltoall"):
        getattr(ours, name)(MPI.IN_PLACE, y := x.copy())
        assert np.array_equal(y, x), name
    y = Guarded(4, "f8")
    ours.Exscan(x, y.array)
    assert y.untouched
    ours.Barrier()
    ours.Free()


def test_long_messages_need_their_receivers(ours, rank, size):
    """Beyond what MPI buffers: where everybody sends first and receives later, all would hang."""
    n = 40_000
    x = np.repeat(10 * rank + np.arange(size), n)
    by_rank = np.repeat(10 * np.arange(size), n)
    for algorithm in serving("alltoall", size):
        t = Guarded(n * size)
        ours.Alltoall(x, t.array, algorithm=algorithm)
        assert t.holds(by_rank + rank), algorithm
    counts = [n if (rank + r) % 2 == 0 else 0 for r in range(size)]
    at = [n * r for r in range(size)]
    t.array[:] = -1
    ours.Alltoallv([x, counts, at, MPI.INT64_T], [t.array, counts, at, MPI.INT64_T])
    there = np.repeat(counts, n) > 0
    assert t.holds(np.where(there, by_rank + rank, -1))
    for algorithm in serving("allgather", size):
        ours.Allgather(x[:n], t.array, algorithm=algorithm)
        assert t.holds(by_rank), algorithm
    y = Guarded(n)
    for algorithm in serving("allreduce", size):
        ours.Allreduce(x[:n], y.array, algorithm=algorithm)
        assert y.intact and (y.array == 5 * size * (size - 1)).all(), algorithm
    for root in {0, size - 1}:
        for algorithm in serving("bcast", size):
            y.array[:] = 10 * rank
            ours.Bcast(y.array, root, algorithm=algorithm)
            assert y.intact and (y.array == 10 * root).all(), algorithm
        ours.Gather(y.array + rank, t.array if rank == root else None, root)
        assert rank != root or t.holds(np.repeat(np.arange(size), n) + 10 * root)
        ours.Scatter(t.array if rank == root else None, y.array, root)
        assert y.intact and (y.array == rank + 10 * root).all()
    ours.Scan(x[:n], y.array)
    assert y.intact and (y.array == 5 * rank * (rank + 1)).all()
    assert len(y.whole) == 8 * n + 2 * GUARD


def test_messages_that_mpi_cannot_carry_at_once_are_cut(ours, rank, size, monkeypatch):
    """The limit lowered, so that the cutting is met without gigabytes."""
    from mpicoll.execution import layout

    monkeypatch.setattr(layout, "LARGEST_MESSAGE", 1000)
    x = values(rank, 3 * size * 131)
    for algorithm in serving("allreduce", size):
        ours.Allreduce(x, y := np.zeros_like(x), algorithm=algorithm)
        assert np.array_equal(y, rows(size, len(x)).sum(0)), algorithm
    for algorithm in serving("alltoall", size):
        ours.Alltoall(x, y, algorithm=algorithm)
        assert np.array_equal(y.reshape(size, -1), rows(size, len(x))[:, rank * 393 :][:, :393])
    for algorithm in serving("bcast", size):
        b = x.copy()
        ours.Bcast(b, size - 1, algorithm=algorithm)
        assert np.array_equal(b, values(size - 1, len(x))), algorithm
    holes = MPI.INT64_T.Create_vector(2, 1, 2).Commit()  # cannot be cut into bytes: sent whole
    b = x.copy()
    spaced = holes.Create_resized(0, 32).Commit()
    ours.Bcast([b, len(b) // 4, spaced], 0)
    taken = np.arange(len(x)) % 4 % 2 == 0
    taken[len(b) // 4 * 4 :] = False
    assert np.array_equal(b, np.where(taken, values(0, len(x)), x))
    holes.Free()
    spaced.Free()


def test_many_small_calls_on_more_ranks_than_cores(ours, rank, size):
    x, y = np.ones(8), np.zeros(8)
    for _ in range(100):
        ours.Allreduce(x, y)
        ours.Barrier()
        ours.Bcast(x, size - 1)
    assert (y == size).all()


def test_nobody_leaves_a_barrier_before_the_last_has_entered(comm, ours, rank, size):
    """By the clock of the one host that all ranks share."""
    for algorithm in serving("barrier", size):
        for late in range(size):
            comm.Barrier()
            if rank == late:
                time.sleep(0.005)
            entered = time.monotonic()
            ours.Barrier(algorithm=algorithm)
            left = time.monotonic()
            times = np.array(comm.allgather((entered, left)))
            assert times[:, 1].min() >= times[:, 0].max(), (algorithm, late, times)
