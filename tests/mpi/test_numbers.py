"""Beyond MPI's arithmetic: averages, half precision, results that do not depend on the layout."""

import ml_dtypes
import numpy as np
import pytest
from mpi4py import MPI

import mpicoll

HALVES = [np.dtype("float16"), np.dtype(ml_dtypes.bfloat16)]


@pytest.fixture
def ours(comm):
    return mpicoll.wrap(comm)


def rows(size, count, dtype):
    return np.array([(np.arange(count) % 13 + k) / 7 for k in range(size)]).astype(dtype)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("algorithm", [None, "ring", "recursive_doubling", "ordered"])
def test_half_precision_is_combined_in_single(ours, dtype, algorithm):
    for count in (0, 1, 5, 1000):
        data = rows(ours.size, count, dtype)
        out = np.zeros(count, dtype)
        ours.Allreduce(data[ours.rank].copy(), out, algorithm=algorithm)
        want = np.zeros(count, "f4")
        for row in data:
            want += row.astype("f4")
        # One rounding at the end, not one for each rank: within one unit of the last place.
        near = np.abs(out.astype("f4") - want)
        assert (near <= np.abs(want) * float(ml_dtypes.finfo(dtype).eps)).all()
        out[:] = data[ours.rank]
        ours.Iallreduce(MPI.IN_PLACE, out, op=MPI.MAX).Wait()
        assert np.array_equal(out, data.max(0))


def test_many_small_numbers_do_not_get_lost(ours):
    """Adding 1 to 2048 in float16 changes nothing; in float32, rounded once, it does."""
    send = np.full(3, 2048 if ours.rank == 0 else 1, "float16")
    out = np.zeros(3, "float16")
    ours.Allreduce(send, out)
    assert (out == np.float16(2048 + ours.size - 1)).all()


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_half_precision_is_moved_as_it_is(ours, dtype):
    data = rows(ours.size, 7, dtype)
    out = np.zeros((ours.size, 7), dtype)
    ours.Allgather(data[ours.rank], out)
    assert np.array_equal(out, data)
    buffer = data[ours.rank].copy()
    ours.Bcast(buffer, root=ours.size - 1)
    assert np.array_equal(buffer, data[-1])


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "f2"])
def test_average(ours, dtype):
    size, rank = ours.size, ours.rank
    data = np.array([np.arange(6.0) + k for k in range(size)]).astype(dtype)
    want = np.arange(6.0) + (size - 1) / 2
    out = np.zeros(6, dtype)
    ours.Allreduce(data[rank].copy(), out, op=mpicoll.AVG)
    assert np.allclose(out, want)
    out[:] = data[rank]
    ours.Allreduce(MPI.IN_PLACE, out, op=mpicoll.AVG)
    assert np.allclose(out, want)
    out[:] = -1
    ours.Reduce(data[rank].copy(), out if rank == 0 else None, op=mpicoll.AVG)
    assert np.allclose(out, want) if rank == 0 else (out == -1).all()
    full = np.tile(data[rank], size)
    ours.Reduce_scatter_block(full, out, op=mpicoll.AVG)
    assert np.allclose(out, want)
    ours.Reduce_scatter_block(MPI.IN_PLACE, full, op=mpicoll.AVG)
    assert np.allclose(full[:6], want)
    request = ours.Allreduce_init(data[rank], out, op=mpicoll.AVG)
    for _ in range(2):
        request.Start()
        request.Wait()
        assert np.allclose(out, want)
    request.Free()


def test_refusals(ours):
    out = np.zeros(2)
    with pytest.raises(mpicoll.ArgumentError, match="scan"):
        ours.Scan(np.ones(2), out, op=mpicoll.AVG)
    with pytest.raises(mpicoll.ArgumentError, match="AVG"):
        ours.Allreduce(np.ones(2, "i4"), np.zeros(2, "i4"), op=mpicoll.AVG)
    with pytest.raises(mpicoll.ArgumentError, match="BAND"):
        ours.Allreduce(np.ones(2, "f2"), np.zeros(2, "f2"), op=MPI.BAND)
    with pytest.raises(mpicoll.RequirementError, match="ordered"):
        ours.Allreduce(np.ones(2), out, algorithm="ring", reproducible=True)
    with pytest.raises(ValueError, match="nothing is combined"):
        ours.Bcast(out, reproducible=True)


def test_reproducible_sums(ours):
    """Numbers of very different sizes: any other order of additions would show."""
    size, rank, count = ours.size, ours.rank, 1001
    random = np.random.default_rng(5)
    data = random.standard_normal((size, count)) * 10.0 ** random.integers(-8, 8, (size, count))
    want = data[0].copy()
    for row in data[1:]:
        want = want + row
    for first, last in ((0, count), (3, 4), (5, 900), (17, 18)):
        part, expected = data[rank, first:last].copy(), want[first:last]
        out = np.zeros(last - first)
        ours.Allreduce(part, out, reproducible=True)
        assert np.array_equal(out, expected)
        ours.Iallreduce(part, out, reproducible=True).Wait()
        assert np.array_equal(out, expected)
        ours.Reduce(part, out, root=size - 1, reproducible=True)
        assert rank != size - 1 or np.array_equal(out, expected)
        ours.Scan(part, out, reproducible=True)
        assert rank != size - 1 or np.array_equal(out, expected)
    ours.Reduce_scatter_block(np.tile(data[rank], size), out := np.zeros(count), reproducible=True)
    assert np.array_equal(out, want)
