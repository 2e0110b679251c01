"""Calls again and again: bound plans are kept, and must never be taken for a call they do not fit.

MPI uses the handles of freed datatypes and operations again, and Python the addresses of freed
memory, so a call may look like an earlier one in everything but its meaning.
"""

import numpy as np
from mpi4py import MPI
from support import rows, serving, values

HERE = MPI.IN_PLACE


def test_the_same_buffers_with_new_contents(ours, rank, size):
    for algorithm in serving("allreduce", size):
        x, y = np.zeros(7), np.zeros(7)
        for k in range(5):
            x[:] = k * (rank + 1)
            y[:] = -1
            ours.Allreduce(x, y, algorithm=algorithm)
            assert (y == k * size * (size + 1) / 2).all(), (algorithm, k)


def test_the_same_memory_in_other_roles(ours, rank, size):
    """One block of memory is sender, receiver, in place, of any root, operation and algorithm."""
    a, b, wide = np.zeros(4), np.zeros(4), np.zeros((size, 4))
    for k in range(3):
        for root in range(size):
            a[:], b[:] = rank + k, -1
            ours.Bcast(a, root)
            assert (a == root + k).all()
            ours.Reduce(a, b, MPI.SUM, root)
            assert (b == (size * (root + k) if rank == root else -1)).all()
            ours.Reduce(a, b, MPI.MAX, root)
            assert (b == (root + k if rank == root else -1)).all()
            b[:] = rank
            ours.Reduce(HERE if rank == root else b, b if rank == root else None, MPI.SUM, root)
            assert (b == (size * (size - 1) / 2 if rank == root else rank)).all()
            a[:] = rank + k
            ours.Gather(a, wide, root)
            ours.Scatter(wide, b, root)
            assert (b == rank + k).all()
        a[:] = rank
        ours.Allreduce(a, b)
        assert (b == size * (size - 1) / 2).all()
        ours.Allreduce(b, a, MPI.MIN)
        assert (a == b).all()
        ours.Allreduce(HERE, a)
        assert (a == size * b).all()
        ours.Allreduce([a, 2], [b, 2])
        assert (b[:2] == size * a[:2]).all() and (b[2:] == a[2:] / size).all()


def test_the_same_address_with_another_type(ours, rank, size):
    memory = [bytearray(8 * 12) for _ in range(2)]
    for dtype in ("i8", "f8", "u8", "i4", "f4", "i2", "c8", "f8", "i8"):
        x, y = (np.frombuffer(m, dtype) for m in memory)
        for op in (MPI.SUM, MPI.PROD):
            x[:] = values(rank, len(x), dtype)
            ours.Allreduce(x, y, op)
            every = rows(size, len(x), dtype)
            want = every.sum(0, dtype=dtype) if op == MPI.SUM else every.prod(0, dtype=dtype)
            assert np.allclose(y, want, rtol=1e-4), dtype
        ours.Scan(x, y, MPI.SUM)
        assert np.allclose(y, rows(size, len(x), dtype)[: rank + 1].sum(0, dtype=dtype))


def test_memory_that_comes_and_goes(ours, rank, size):
    """NumPy gives freed memory to the next array of that size."""
    seen = set()
    for k in range(40):
        dtype = ("f8", "i8", "c16")[k % 3]
        n = 64 // np.dtype(dtype).itemsize
        x, y = np.full(n, rank + k, dtype), np.zeros(n, dtype)
        seen.add(x.ctypes.data)
        ours.Allreduce(x, y)
        assert (y == size * (size - 1) // 2 + size * k).all(), k
        del x, y
    assert len(seen) < 40  # otherwise this test shows nothing


def test_datatypes_whose_handles_are_used_again(ours, rank, size):
    x = np.zeros(16, "i4")
    shapes = [
        (lambda: MPI.INT32_T.Create_vector(2, 1, 2), [0, 2]),
        (lambda: MPI.INT32_T.Create_vector(2, 1, 5), [0, 5]),
        (lambda: MPI.INT32_T.Create_contiguous(2), [0, 1]),
        (lambda: MPI.INT32_T.Create_indexed([1, 1], [7, 3]), [7, 3]),
        (lambda: MPI.INT32_T.Create_indexed([1, 1], [3, 7]), [3, 7]),
        (lambda: MPI.FLOAT.Create_vector(2, 1, 4), [0, 4]),
    ]
    for number in range(3 * len(shapes)):
        make, places = shapes[number % len(shapes)]
        datatype = make().Commit()
        root = number % size
        x[:] = -1
        if rank == root:
            x[places] = [number, number + 1]
        ours.Bcast([x, 1, datatype], root)
        want = np.full(16, -1)
        want[places] = [number, number + 1]
        assert np.array_equal(x, want), number
        box = np.zeros((size, 2), "i4")
        ours.Allgather([x, 1, datatype], [box, 2, MPI.INT32_T])
        assert (box == [number, number + 1]).all(), number
        datatype.Free()


def test_operations_whose_handles_are_used_again(ours, rank, size):
    def combining(ufunc):
        def combine(a, b, datatype):
            x, y = np.frombuffer(a, "i8"), np.frombuffer(b, "i8")
            ufunc(x, y, out=y)

        return combine

    x, y = values(rank, 5), np.zeros(5, "i8")
    for number, ufunc in enumerate((np.add, np.maximum, np.multiply, np.minimum) * 3):
        op = MPI.Op.Create(combining(ufunc), commute=number % 2 == 0)
        ours.Allreduce(x, y, op)
        assert np.array_equal(y, ufunc.reduce(rows(size, 5))), number
        ours.Scan(x, y, op)
        assert np.array_equal(y, ufunc.reduce(rows(size, 5)[: rank + 1])), number
        op.Free()


def test_layouts_that_differ_in_counts_only(ours, rank, size):
    out = np.zeros(4 * size, "i8")
    for k in range(4):
        counts = [(r + k) % 4 for r in range(size)]
        displs = [4 * ((r + k) % size) for r in range(size)]
        out[:] = -1
        ours.Allgatherv(values(rank, counts[rank]), [out, counts, displs, MPI.INT64_T])
        want = np.full(4 * size, -1)
        for r in range(size):
            want[displs[r] :][: counts[r]] = values(r, counts[r])
        assert np.array_equal(out, want), k
        part = np.zeros(counts[rank], "i8")
        ours.Reduce_scatter(values(rank, sum(counts)), part, counts)
        at = sum(counts[:rank])
        assert np.array_equal(part, rows(size, sum(counts)).sum(0)[at:][: counts[rank]]), k


def test_plans_and_scratch_are_not_kept_without_end(ours, rank, size):
    state = ours.state
    keep = [np.ones(2) for _ in range(state.MOST_PLANS + 50)]
    out = np.zeros(2)
    for x in keep:
        ours.Allreduce(x, out)
    assert (out == size).all() and len(state.plans) <= state.MOST_PLANS
    scratch = sum(bound.scratch_bytes for bound in state.plans.values())
    assert scratch <= state.MOST_SCRATCH


def test_a_parameter_makes_another_plan(ours, rank, size):
    from mpicoll.registry import algorithms_of

    x = values(rank, 50)
    for algorithm in algorithms_of("bcast"):
        if algorithm.unmet(size):
            continue
        for name, default in algorithm.parameters.items():
            for value in (default, 3, 2, default):
                b = x.copy()
                try:
                    ours.Bcast(b, size - 1, algorithm=algorithm.name, **{name: value})
                except (ValueError, TypeError):
                    continue  # not every number suits every parameter; all ranks say the same
                assert np.array_equal(b, values(size - 1, 50)), (algorithm.name, name, value)


def test_another_choice_counts_for_repeated_calls_too(ours, rank, size, monkeypatch):
    """Rank 0 comes with the same memory again, the others with new memory: all must agree."""
    from mpicoll.selection import forget

    x, y = np.ones(8), np.zeros(8)
    try:
        for algorithm in (*serving("allreduce", size)[1:4], "ring"):
            monkeypatch.setenv("MPICOLL_ALLREDUCE", algorithm)
            forget()
            for _ in range(2):
                ours.Allreduce(x, y)
                assert (y == size).all()
                if rank:
                    x, y, _kept = np.ones(8), np.zeros(8), (x, y)
    finally:
        monkeypatch.undo()
        forget()


def test_tags_keep_their_kind_when_they_come_round_again(ours, size):
    """Persistent calls keep the odd tags, whatever the largest tag of the library."""
    send, receive = np.ones(3), np.zeros(3)
    request = ours.Allreduce_init(send, receive)
    ours.state.calls = ours.state.tags // 2 - 3
    for _ in range(6):
        assert ours.state.next_tag() % 2 == 0
        assert ours.state.next_tag(persistent=True) % 2 == 1
        ours.Allreduce(send, receive)
        request.Start()
        request.Wait()
        assert (receive == size).all()
    request.Free()
