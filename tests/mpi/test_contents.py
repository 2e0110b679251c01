"""What is in the memory: every dtype, bool, complex, structured rows; operations in order."""

import numpy as np
import pytest
from mpi4py import MPI
from mpi4py.util.dtlib import from_numpy_dtype
from support import Guarded, raised, rows, serving, values

DTYPES = "i1 u1 i2 u2 i4 u4 i8 u8 f4 f8 g c8 c16 G ?".split()


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_moves_and_adds(ours, rank, size, dtype):
    n = 2 * size + 1
    x, every = values(rank, n, dtype), rows(size, n, dtype)
    for root in {0, size - 1}:
        b = Guarded(n, dtype)
        b.array[:] = x
        ours.Bcast(b.array, root)
        assert b.holds(every[root])
    box = Guarded((size, n), dtype)
    ours.Allgather(x, box.array)
    # A long double has bytes that mean nothing, so values are compared.
    assert np.array_equal(box.array, every) and box.intact
    if dtype == "?":
        return
    total = Guarded(n, dtype)
    ours.Allreduce(x, total.array)
    assert np.array_equal(total.array, every.sum(0, dtype=dtype)) and total.intact
    ours.Scan(x, total.array, MPI.PROD)
    expected = every[: rank + 1].prod(0, dtype=dtype)
    assert np.allclose(total.array, expected, rtol=1e-4) and total.intact


def test_logical_operations_on_bool_and_no_arithmetic(ours, rank, size):
    x = np.array([rank == 0, True, False, rank == size - 1, rank % 2 == 0])
    every = np.array([[r == 0, True, False, r == size - 1, r % 2 == 0] for r in range(size)])
    for op, ufunc in (
        (MPI.LAND, np.logical_and),
        (MPI.LOR, np.logical_or),
        (MPI.LXOR, np.logical_xor),
    ):
        running = ufunc.accumulate(every)
        for algorithm in serving("allreduce", size):
            y = Guarded(5, "?")
            ours.Allreduce(x, y.array, op, algorithm=algorithm)
            assert y.holds(running[-1]), (op, algorithm)
        ours.Reduce(x, y.array if rank == size - 1 else None, op, size - 1)
        ours.Scan(x, y.array, op)
        assert y.holds(running[rank])
    for op in (MPI.SUM, MPI.PROD, MPI.MAX, MPI.MIN, MPI.BAND, MPI.BOR, MPI.BXOR, MPI.MINLOC):
        y = Guarded(5, "?")
        error = raised(ours.Allreduce, x, y.array, op)
        assert isinstance(error, MPI.Exception) and error.Get_error_class() == MPI.ERR_OP, op
        assert y.untouched
    # On integers they give 0 and 1 for any truth; one rank alone has nothing to combine.
    numbers = np.array([3 * (rank == 0), 5, 0, -2], "i4")
    ours.Allreduce(numbers, y := np.zeros(4, "i4"), MPI.LOR)
    assert y.tolist() == ([1, 1, 0, 1] if size > 1 else [3, 5, 0, -2])
    ours.Allreduce(numbers.astype("u1"), y := np.zeros(4, "u1"), MPI.LAND)
    assert y.tolist() == ([0, 1, 0, 1] if size > 1 else [3, 5, 0, 254])


@pytest.mark.parametrize("dtype", ("c8", "c16", "G"))
def test_complex_numbers_have_two_parts_and_no_order(ours, rank, size, dtype):
    every = np.array([[1 + 1j * (r + 1), 2j, r - 1j] for r in range(size)]).astype(dtype)
    for op, want in ((MPI.SUM, every.sum(0)), (MPI.PROD, every.prod(0))):
        for algorithm in serving("allreduce", size):
            ours.Allreduce(every[rank], y := np.zeros(3, dtype), op, algorithm=algorithm)
            assert np.allclose(y, want), (op, algorithm)
        ours.Reduce_scatter_block(np.tile(every[rank], size), y, op)
        assert np.allclose(y, want)
    for op in (MPI.MAX, MPI.MIN, MPI.LAND, MPI.LXOR, MPI.BOR, MPI.MAXLOC):
        for call in (ours.Allreduce, ours.Scan, ours.Exscan):
            assert isinstance(raised(call, every[rank], y, op), MPI.Exception)
        assert isinstance(raised(ours.Reduce, every[rank], y, op, 0), MPI.Exception)


def test_floats_and_bits_do_not_mix(ours, rank, size):
    x, y = np.ones(3), np.zeros(3)
    for op in (MPI.BAND, MPI.BOR, MPI.BXOR, MPI.MINLOC):
        assert raised(ours.Allreduce, x, y, op), op
    assert isinstance(raised(ours.Allreduce, x, y, MPI.OP_NULL), MPI.Exception)
    assert isinstance(raised(ours.Allreduce, x, y, sum), TypeError)
    assert not y.any()


STRUCTURES = (
    np.dtype([("id", "i4"), ("w", "f8", (2,)), ("flag", "i1")], align=True),  # padded
    np.dtype([("flag", "?"), ("z", "c16"), ("h", "i2")]),  # packed, not aligned
    np.dtype({"names": ["b", "a"], "formats": ["u2", "f4"], "offsets": [8, 0], "itemsize": 16}),
)


@pytest.mark.parametrize("dtype", STRUCTURES, ids=("padded", "packed", "out of order"))
def test_structured_rows_need_a_datatype_and_then_move(ours, rank, size, dtype):
    def table(r, n):
        made = np.zeros(n, dtype)
        if n == 0:
            return made
        for number, name in enumerate(dtype.names):
            made[name].reshape(n, -1)[:] = (r + number + np.arange(n)[:, None]) % 7
        return made

    assert isinstance(raised(ours.Bcast, table(rank, 3)), (KeyError, ValueError, BufferError))
    row = from_numpy_dtype(dtype).Commit()
    for algorithm in serving("bcast", size):
        for root in {0, size - 1}:
            b = table(rank, 5)
            ours.Bcast([b, 5, row], root, algorithm=algorithm)
            assert (b == table(root, 5)).all(), algorithm
    counts = [r % 3 for r in range(size)]  # some ranks have nothing
    out = np.zeros(sum(counts), dtype)
    ours.Allgatherv([table(rank, counts[rank]), counts[rank], row], [out, counts, None, row])
    assert (out == np.concatenate([table(r, counts[r]) for r in range(size)])).all()
    there, back = np.zeros((size, 2), dtype), np.zeros((size, 2), dtype)
    for r in range(size):
        there[r] = table(rank + r, 2)
    ours.Alltoall([there, row], [back, row])
    assert (back == there).all()
    row.Free()


def test_integers_wrap_and_predefined_operations_agree_with_native(comm, ours, rank, size):
    x = (values(rank, 9) * 10**9 + rank).astype("i8")
    for dtype in ("i4", "u1", "i8", "u8"):
        mine = x.astype(dtype)
        for op in (
            MPI.SUM,
            MPI.PROD,
            MPI.MAX,
            MPI.MIN,
            MPI.BAND,
            MPI.BOR,
            MPI.BXOR,
            MPI.LAND,
            MPI.LOR,
            MPI.LXOR,
        ):
            got, want = np.zeros(9, dtype), np.zeros(9, dtype)
            ours.Allreduce(mine, got, op)
            comm.Allreduce(mine, want, op)
            assert np.array_equal(got, want), (dtype, op)


@pytest.mark.parametrize("dtype", ("f4", "f8"))
def test_nan_and_infinity_arrive_on_every_rank(ours, rank, size, dtype):
    x = np.array([1.0, np.inf, -np.inf, rank, 0.0], dtype)
    if rank == size // 2:
        x[0] = np.nan
    for op, want in (
        (MPI.SUM, [np.nan, np.inf, -np.inf, size * (size - 1) / 2, 0]),
        (MPI.MAX, [np.nan, np.inf, -np.inf, size - 1, 0]),
        (MPI.MIN, [np.nan, np.inf, -np.inf, 0, 0]),
    ):
        for algorithm in serving("allreduce", size):
            ours.Allreduce(x, y := np.zeros(5, dtype), op, algorithm=algorithm)
            assert np.array_equal(y, np.array(want, dtype), equal_nan=True), (op, algorithm)


def test_sums_of_floats_have_the_same_bits_on_every_rank(comm, ours, rank, size):
    x = np.random.default_rng(rank).standard_normal(1003).astype("f4")
    every = np.zeros((size, 1003), "f4")
    for algorithm in serving("allreduce", size):
        ours.Allreduce(x, y := np.zeros_like(x), algorithm=algorithm)
        comm.Allgather(y, every)
        assert (every.view("u4") == every[0].view("u4")).all(), algorithm


MODULUS = 10007


def multiply(a, b, datatype):
    """Store a b in b, for 2 x 2 matrices of integers."""
    left, right = (np.frombuffer(m, "i8").reshape(-1, 2, 2) for m in (a, b))
    right[:] = (left @ right) % MODULUS


def matrices(rank, n):
    k = np.arange(n)
    made = np.empty((n, 2, 2), "i8")
    made[:, 0, 0], made[:, 0, 1] = 1 + k % 5, rank + 1
    made[:, 1, 0], made[:, 1, 1] = rank + 2 + k % 3, 1
    return made


def product(ranks, n):
    result = np.tile(np.eye(2, dtype="i8"), (n, 1, 1))
    for rank in ranks:
        result = (result @ matrices(rank, n)) % MODULUS
    return result


@pytest.mark.parametrize("n", (1, 3, 700))
def test_operations_that_do_not_commute_keep_rank_order(ours, rank, size, n):
    op = MPI.Op.Create(multiply, commute=False)
    four = MPI.INT64_T.Create_contiguous(4).Commit()
    x, want = matrices(rank, n), product(range(size), n)

    def spec(a):
        return [a, len(a), four]

    for algorithm in serving("allreduce", size, commutative=False):
        ours.Allreduce(spec(x), spec(y := np.zeros_like(x)), op, algorithm=algorithm)
        assert np.array_equal(y, want), algorithm
        ours.Allreduce(MPI.IN_PLACE, spec(y := x.copy()), op, algorithm=algorithm)
        assert np.array_equal(y, want), algorithm
    for algorithm in serving("reduce", size, commutative=False):
        for root in range(size):
            y = Guarded(x.shape)
            out = spec(y.array) if rank == root else None
            ours.Reduce(spec(x), out, op, root, algorithm=algorithm)
            assert y.holds(want) if rank == root else y.untouched, (algorithm, root)
            y = x.copy()
            ours.Reduce(MPI.IN_PLACE if rank == root else spec(x), spec(y), op, root)
            assert rank != root or np.array_equal(y, want)
    for algorithm in serving("scan", size, commutative=False):
        ours.Scan(spec(x), spec(y := np.zeros_like(x)), op, algorithm=algorithm)
        assert np.array_equal(y, product(range(rank + 1), n)), algorithm
    for algorithm in serving("exscan", size, commutative=False):
        y = Guarded(x.shape)
        ours.Exscan(spec(x), spec(y.array), op, algorithm=algorithm)
        assert y.holds(product(range(rank), n)) if rank else y.untouched, algorithm
    for algorithm in serving("reduce_scatter", size, commutative=False):
        wide = np.concatenate([x] * size)
        ours.Reduce_scatter_block([wide, n, four], spec(y := x * 0), op, algorithm=algorithm)
        assert np.array_equal(y, want), algorithm
        counts = [n if r % 2 == 0 else 0 for r in range(size)]
        part = np.zeros((counts[rank], 2, 2), "i8")
        wide = np.concatenate([x] * ((size + 1) // 2))
        unequal = serving("reduce_scatter", size, commutative=False, equal_blocks=False)
        if algorithm in unequal:
            ours.Reduce_scatter(spec(wide), spec(part), counts, op, algorithm=algorithm)
            assert np.array_equal(part, want[: counts[rank]]), algorithm
    assert np.array_equal(x, matrices(rank, n))
    op.Free()
    four.Free()


def test_an_operation_may_not_see_less_than_whole_elements(ours, rank, size):
    """A user's operation gets the datatype of the call, whole elements, and writes only b."""
    seen = []

    def add(a, b, datatype):
        seen.append((len(a) % 24, len(b) % 24, datatype.Get_size()))
        np.frombuffer(b, "f8")[:] += np.frombuffer(a, "f8")

    op = MPI.Op.Create(add, commute=True)
    three = MPI.DOUBLE.Create_contiguous(3).Commit()
    for n in (1, size, 2 * size + 1):
        x = values(rank, 3 * n, "f8")
        for algorithm in serving("allreduce", size):
            y = Guarded(3 * n, "f8")
            ours.Allreduce([x, n, three], [y.array, n, three], op, algorithm=algorithm)
            assert y.holds(rows(size, 3 * n, "f8").sum(0)), (n, algorithm)
    assert set(seen) <= {(0, 0, 24)}
    op.Free()
    three.Free()


PAIRS = {
    "f8": MPI.DOUBLE_INT,
    "f4": MPI.FLOAT_INT,
    "i4": MPI.INT_INT,
    "i8": MPI.LONG_INT,
    "i2": MPI.SHORT_INT,
}


@pytest.mark.parametrize("code", PAIRS)
def test_location_of_the_extreme_with_ties_to_the_lowest_index(ours, rank, size, code):
    pair, dtype = PAIRS[code], np.dtype([("v", code), ("i", "i4")], align=True)
    assert pair.Get_extent()[1] == dtype.itemsize

    def data(r):
        made = np.zeros(5, dtype)
        made["v"] = [7, r, -r, 3 if r % 2 else 5, (r * 5) % 3]
        made["i"] = [size - 1 - r, r + 10, r + 20, r + 30, 99 - r]
        return made

    def best(sign, ranks):
        every = np.array([data(r) for r in ranks])
        order = np.lexsort((every["i"], sign * every["v"].astype("f8")), axis=0)[0]
        return every[order, np.arange(5)]

    def equal(a, b):
        return (a["v"] == b["v"]).all() and (a["i"] == b["i"]).all()

    for op, sign in ((MPI.MINLOC, 1), (MPI.MAXLOC, -1)):
        for algorithm in serving("allreduce", size):
            y = np.zeros(5, dtype)
            ours.Allreduce([data(rank), 5, pair], [y, 5, pair], op, algorithm=algorithm)
            assert equal(y, best(sign, range(size))), (op, algorithm)
        for root in {0, size - 1}:
            y = np.zeros(5, dtype)
            ours.Reduce([data(rank), pair], [y, pair] if rank == root else None, op, root)
            assert rank != root or equal(y, best(sign, range(size)))
        ours.Scan([data(rank), 5, pair], [y, 5, pair], op)
        assert equal(y, best(sign, range(rank + 1)))
        ours.Exscan([data(rank), 5, pair], [y, 5, pair], op)
        assert rank == 0 or equal(y, best(sign, range(rank)))
        ours.Reduce_scatter_block([np.tile(data(rank), size), 5, pair], [y, 5, pair], op)
        assert equal(y, best(sign, range(size)))
