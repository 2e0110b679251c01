"""In place, for every root and every collective; and roots that are obeyed."""

import numpy as np
from mpi4py import MPI
from support import Guarded, rows, serving, values

HERE = MPI.IN_PLACE


def test_in_place_at_every_root(ours, rank, size):
    counts = [r % 3 + 1 for r in range(size)]
    displs = [sum(counts[:r]) + r for r in range(size)]  # one free place between blocks
    for root in range(size):
        me = rank == root
        own, every = values(rank, 2), rows(size, 2)
        for algorithm in serving("gather", size):
            box = Guarded((size, 2))
            if me:
                box.array[rank] = own
            ours.Gather(HERE if me else own, box.array if me else None, root, algorithm=algorithm)
            assert box.holds(every) if me else box.untouched, (root, algorithm)
        for algorithm in serving("scatter", size):
            part = Guarded(2)
            ours.Scatter(
                every if me else None, HERE if me else part.array, root, algorithm=algorithm
            )
            assert part.untouched if me else part.holds(own), (root, algorithm)
            assert np.array_equal(every, rows(size, 2))
        for algorithm in serving("reduce", size):
            x = Guarded(5)
            x.array[:] = values(rank, 5)
            ours.Reduce(
                HERE if me else x.array, x.array if me else None, root=root, algorithm=algorithm
            )
            assert x.holds(rows(size, 5).sum(0) if me else values(rank, 5)), (root, algorithm)

        gaps, want = Guarded(sum(counts) + size), Guarded(sum(counts) + size)
        for r in range(size):
            want.array[displs[r] :][: counts[r]] = values(r, counts[r])
        mine = values(rank, counts[rank])
        if me:
            gaps.array[displs[rank] :][: counts[rank]] = mine
        spec = [gaps.array, counts, displs, MPI.INT64_T] if me else None
        ours.Gatherv(HERE if me else mine, spec, root)
        assert gaps.holds(want.array) if me else gaps.untouched
        part = Guarded(counts[rank])
        ours.Scatterv(spec, HERE if me else part.array, root)
        assert part.untouched if me else part.holds(mine)
        assert gaps.holds(want.array) if me else gaps.untouched


def test_in_place_on_all_ranks(ours, rank, size):
    for n in sorted({1, 2, size, 3 * size + 1, 2500}):
        every = rows(size, n)
        for algorithm in serving("allreduce", size):
            x = Guarded(n)
            x.array[:] = every[rank]
            ours.Allreduce(HERE, x.array, algorithm=algorithm)
            assert x.holds(every.sum(0)), (n, algorithm)
        for algorithm in serving("scan", size):
            x.array[:] = every[rank]
            ours.Scan(HERE, x.array, algorithm=algorithm)
            assert x.holds(every[: rank + 1].sum(0)), (n, algorithm)
        for algorithm in serving("exscan", size):
            x.array[:] = every[rank]
            ours.Exscan(HERE, x.array, algorithm=algorithm)
            assert x.holds(every[:rank].sum(0) if rank else every[0]), (n, algorithm)
        for algorithm in serving("allgather", size):
            box = Guarded((size, n))
            box.array[rank] = every[rank]
            ours.Allgather(HERE, box.array, algorithm=algorithm)
            assert box.holds(every), (n, algorithm)


def test_in_place_exchange_and_scattered_reduction(ours, rank, size):
    for n in (1, 3):
        for algorithm in serving("alltoall", size):
            a = Guarded((size, n))
            a.array[:] = (100 * rank + np.arange(size))[:, None]
            ours.Alltoall(HERE, a.array, algorithm=algorithm)
            assert a.holds(np.tile((100 * np.arange(size) + rank)[:, None], n)), algorithm
        for algorithm in serving("reduce_scatter", size):
            x = Guarded((size, n))
            x.array[:] = rows(size, n * size)[rank].reshape(size, n)
            ours.Reduce_scatter_block(HERE, x.array, algorithm=algorithm)
            total = rows(size, n * size).sum(0).reshape(size, n)
            # What lies behind the result is nobody's business.
            assert x.intact and np.array_equal(x.array[0], total[rank]), algorithm
    counts = [r % 3 for r in range(size)]
    ends = np.cumsum([0, *counts])
    x = Guarded(ends[-1])
    x.array[:] = values(rank, ends[-1])
    ours.Reduce_scatter(HERE, x.array, counts)
    want = rows(size, ends[-1]).sum(0)[ends[rank] : ends[rank + 1]]
    assert x.intact and np.array_equal(x.array[: counts[rank]], want)


def test_in_place_with_gaps_between_blocks(ours, rank, size):
    counts = [r % 3 for r in range(size)]
    displs = [3 * (size - 1 - r) for r in range(size)]
    box, want = Guarded(3 * size), Guarded(3 * size)
    for r in range(size):
        want.array[displs[r] :][: counts[r]] = values(r, counts[r])
    box.array[displs[rank] :][: counts[rank]] = values(rank, counts[rank])
    ours.Allgatherv(HERE, [box.array, counts, displs, MPI.INT64_T])
    assert box.holds(want.array)

    # In place, counts must be symmetric.
    counts, displs = [1 + (rank + r) % 2 for r in range(size)], [2 * r for r in range(size)]
    b, want = Guarded(2 * size), Guarded(2 * size)
    for r in range(size):
        b.array[displs[r] :][: counts[r]] = 100 * rank + r
        want.array[displs[r] :][: counts[r]] = 100 * r + rank
    start = b.array.copy()
    ours.Alltoallv(HERE, [b.array, counts, displs, MPI.INT64_T])
    assert b.holds(want.array)
    b.array[:] = start
    ours.Alltoallw(HERE, [b.array, (counts, [8 * d for d in displs]), [MPI.INT64_T] * size])
    assert b.holds(want.array)


def test_every_root_is_obeyed_by_every_algorithm(ours, rank, size):
    for n in (1, 1000):
        for root in range(size):
            for algorithm in serving("bcast", size):
                b = np.full(n, rank)
                ours.Bcast(b, root, algorithm=algorithm)
                assert (b == root).all(), (n, root, algorithm)
            for algorithm in serving("reduce", size):
                y = Guarded(n)
                ours.Reduce(np.full(n, rank + 1), y.array, root=root, algorithm=algorithm)
                if rank == root:
                    assert y.intact and (y.array == size * (size + 1) // 2).all(), algorithm
                else:
                    assert y.untouched, (n, root, algorithm)
            for algorithm in serving("gather", size):
                box = Guarded((size, n))
                ours.Gather(np.full(n, rank), box.array, root, algorithm=algorithm)
                if rank == root:
                    assert box.holds(np.tile(np.arange(size)[:, None], n)), (root, algorithm)
                else:
                    assert box.untouched, (root, algorithm)
            source = np.repeat(np.arange(size), n) + 100 * rank
            for algorithm in serving("scatter", size):
                part = Guarded(n)
                ours.Scatter(source, part.array, root, algorithm=algorithm)
                assert part.intact and (part.array == rank + 100 * root).all(), algorithm
    b = np.array([rank])
    ours.Bcast(b, np.int64(size - 1))  # any integer will do
    assert b[0] == size - 1


def test_inverses(ours, rank, size):
    """Gather undoes Scatter; an exchange twice is nothing; allreduce is its two halves."""
    x = values(rank, 3 * size)
    ours.Scatter(x, part := np.zeros(3, "i8"), size - 1)
    ours.Gather(part, back := np.zeros(3 * size, "i8"), size - 1)
    assert rank != size - 1 or np.array_equal(back, x)
    ours.Alltoall(x, y := np.zeros_like(x))
    ours.Alltoall(y, back)
    assert np.array_equal(back, x)
    ours.Reduce_scatter_block(x, part)
    ours.Allgather(part, y)
    ours.Allreduce(x, back)
    assert np.array_equal(y, back)
    ours.Reduce(x, y, root=0)
    ours.Bcast(y, 0)
    assert np.array_equal(y, back)


def test_none_is_in_place_for_the_sender_as_in_mpi4py(ours, rank, size):
    ours.Allreduce(None, x := np.array([rank + 1]))
    assert x[0] == size * (size + 1) // 2
    box = np.full(size, -1)
    box[rank] = rank
    ours.Allgather(None, box)
    assert box.tolist() == list(range(size))
    ours.Scan(None, x := np.array([rank]))
    assert x[0] == rank * (rank + 1) // 2
    for root in range(size):
        me = rank == root
        x = np.array([rank + 1])
        ours.Reduce(None if me else x, x if me else None, root=root)
        assert x[0] == (size * (size + 1) // 2 if me else rank + 1)
        ours.Scatter(box if me else None, None if me else x, root)
        assert me or x[0] == rank
