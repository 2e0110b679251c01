"""Derived datatypes: gaps, negative bounds, short extents, permuted data, one type per peer."""

import numpy as np
import pytest
from mpi4py import MPI
from support import Guarded, rows, serving, values


class Layout:
    """A datatype of `cells` ints: which of the ints around the address it means, in order."""

    def __init__(self, datatype, indices, extent):
        self.datatype, self.indices, self.extent = datatype.Commit(), np.array(indices), extent

    def places(self, count):
        """Where the ints of `count` elements are, relative to the address, in order of sending."""
        starts = self.extent * np.arange(count)
        return (starts[:, None] + self.indices).ravel()


def layouts():
    """All kinds of geometry, made of 4-byte ints."""
    one = MPI.INT32_T
    return {
        "contiguous": Layout(one.Create_contiguous(3), [0, 1, 2], 3),
        "gap behind": Layout(one.Create_resized(0, 8), [0], 2),
        "gap before": Layout(one.Create_hindexed([1], [4]).Create_resized(0, 8), [1], 2),
        "negative lower bound": Layout(
            one.Create_hindexed([1], [-4]).Create_resized(-4, 8), [-1], 2
        ),
        "both sides": Layout(
            one.Create_hindexed([1, 1], [-4, 8]).Create_resized(-4, 16), [-1, 2], 4
        ),
        "strided": Layout(one.Create_vector(3, 1, 2), [0, 2, 4], 5),
        "interleaved": Layout(one.Create_vector(3, 1, 6).Create_resized(0, 4), [0, 6, 12], 1),
        "backwards": Layout(one.Create_indexed([1, 1, 1], [2, 1, 0]), [2, 1, 0], 3),
        "backwards in the whole": Layout(
            one.Create_hindexed([1], [0]).Create_resized(0, -4), [0], -1
        ),
        "transposed": Layout(  # no gaps, and yet not a run of bytes
            one.Create_vector(2, 1, 3)
            .Create_resized(0, 4)
            .Create_contiguous(3)
            .Create_resized(0, 24),
            [0, 3, 1, 4, 2, 5],
            6,
        ),
        "swapped pair": Layout(MPI.Datatype.Create_struct([1, 1], [4, 0], [one, one]), [1, 0], 2),
        "empty": Layout(one.Create_contiguous(0), [], 0),
    }


BEFORE, ROOM = 12, 60  # ints in front of the address, and in all


class Sheet:
    """Memory of sentinels around an address at which a layout begins."""

    def __init__(self, layout, count, fill=None):
        self.memory = np.full(BEFORE + ROOM, -1, "i4")
        self.layout, self.count = layout, count
        self.where = BEFORE + layout.places(count).astype("i8")
        if fill is not None:
            self.memory[self.where] = fill

    def spec(self, count=None):
        return [self.memory[BEFORE:], self.count if count is None else count, self.layout.datatype]

    def holds(self, data):
        """The data is in its places, and everything else is as it was."""
        expected = np.full_like(self.memory, -1)
        expected[self.where] = data
        return np.array_equal(self.memory, expected)


LAYOUTS = list(layouts())


@pytest.fixture(params=LAYOUTS)
def layout(request):
    made = layouts()[request.param]
    yield made
    made.datatype.Free()


def test_any_layout_to_any_other(ours, rank, size, layout):
    """Each collective, sending in one layout and receiving in another, and the reverse."""
    count = 2
    cells = count * len(layout.indices)
    each = [values(r, cells, "i4") for r in range(size)]
    plain = [np.zeros(cells, "i4"), cells, MPI.INT32_T]
    for algorithm in serving("bcast", size):
        for root in {0, size - 1}:
            # The root has a layout and the others plain memory, then the other way round.
            sheet = Sheet(layout, count, each[rank])
            plain[0][:] = each[rank]
            ours.Bcast(sheet.spec() if rank == root else plain, root, algorithm=algorithm)
            assert sheet.holds(each[rank])
            assert rank == root or np.array_equal(plain[0], each[root]), algorithm
            sheet = Sheet(layout, count, each[rank])
            plain[0][:] = each[rank]
            ours.Bcast(plain if rank == root else sheet.spec(), root, algorithm=algorithm)
            assert sheet.holds(each[rank if rank == root else root]), algorithm
    sheet = Sheet(layout, count, each[rank])
    box = np.zeros((size, cells), "i4")
    for algorithm in serving("allgather", size):
        box[:] = 0
        ours.Allgather(sheet.spec(), [box, cells, MPI.INT32_T], algorithm=algorithm)
        assert np.array_equal(box, np.array(each).reshape(size, cells)), algorithm
    for root in {0, size - 1}:
        box[:] = 0
        ours.Gather(sheet.spec(), [box, cells, MPI.INT32_T] if rank == root else None, root)
        assert rank != root or np.array_equal(box, np.array(each).reshape(size, cells))
        got = Sheet(layout, count)
        ours.Scatter([box, cells, MPI.INT32_T] if rank == root else None, got.spec(), root)
        assert got.holds(each[rank])
    assert sheet.holds(each[rank])


def test_blocks_in_any_layout(ours, rank, size, layout):
    """Consecutive blocks of a layout, as it is received by the root and sent by it."""
    blocks = 4 if size > 4 else size  # blocks must fit on the sheet
    members = ours.Split(0 if rank < blocks else MPI.UNDEFINED, rank)
    if members == MPI.COMM_NULL:
        return
    cells = len(layout.indices)
    each = np.array([values(r, cells, "i4") for r in range(blocks)]).reshape(blocks, cells)
    for algorithm in serving("gather", blocks):
        for root in {0, blocks - 1}:
            sheet = Sheet(layout, blocks)
            mine = [each[rank].copy(), cells, MPI.INT32_T]
            out = sheet.spec(1) if rank == root else None
            members.Gather(mine, out, root, algorithm=algorithm)
            assert sheet.holds(each.ravel() if rank == root else -1), (algorithm, root)
            members.Scatter(out, mine, root)
            assert np.array_equal(mine[0], each[rank])
    sheet = Sheet(layout, blocks)
    members.Allgather([each[rank].copy(), cells, MPI.INT32_T], sheet.spec(1))
    assert sheet.holds(each.ravel())
    wide = np.arange(blocks * cells, dtype="i4") + 100 * rank
    transposed = np.array([wide[rank * cells :][:cells] + 100 * (r - rank) for r in range(blocks)])
    for algorithm in serving("alltoall", blocks):
        sheet = Sheet(layout, blocks)
        members.Alltoall([wide, cells, MPI.INT32_T], sheet.spec(1), algorithm=algorithm)
        assert sheet.holds(transposed.ravel()), algorithm
        back = np.zeros_like(wide)
        members.Alltoall(sheet.spec(1), [back, cells, MPI.INT32_T], algorithm=algorithm)
        assert np.array_equal(back, wide), algorithm
    if layout.extent > 0:
        # Displacements count extents; blocks from the back.
        displs = list(range(blocks))[::-1]
        sheet = Sheet(layout, blocks)
        spec = [sheet.memory[BEFORE:], [1] * blocks, displs, layout.datatype]
        members.Allgatherv([each[rank].copy(), cells, MPI.INT32_T], spec)
        assert sheet.holds(each[::-1].ravel())
    members.Free()


def test_in_place_in_any_layout(ours, rank, size, layout):
    if size > 5:
        pytest.skip("the blocks do not fit on the sheet")
    cells = len(layout.indices)
    each = np.array([values(r, cells, "i4") for r in range(size)]).reshape(size, cells)
    sheet = Sheet(layout, size)
    own = BEFORE + layout.extent * rank + layout.indices.astype("i8")
    sheet.memory[own] = each[rank]
    ours.Allgather(MPI.IN_PLACE, sheet.spec(1))
    assert sheet.holds(each.ravel())
    for block in range(size):
        at = BEFORE + layout.extent * block + layout.indices.astype("i8")
        sheet.memory[at] = 10 * rank + block
    ours.Alltoall(MPI.IN_PLACE, sheet.spec(1))
    assert sheet.holds(np.repeat(10 * np.arange(size) + rank, cells))


def test_a_distributed_transpose_by_a_type_for_each_peer(ours, rank, size):
    n = 2
    whole = np.arange((n * size) ** 2, dtype="f8").reshape(n * size, n * size)
    mine, out = whole[n * rank :][:n].copy(), Guarded((n, n * size), "f8")
    block = MPI.DOUBLE.Create_subarray([n, n * size], [n, n], [0, 0]).Commit()
    column = MPI.DOUBLE.Create_vector(n, 1, n * size)
    turned = MPI.Datatype.Create_struct([1] * n, [8 * i for i in range(n)], [column] * n).Commit()
    at = [8 * n * peer for peer in range(size)]
    ones = [1] * size
    for algorithm in serving("alltoall", size, equal_blocks=False):
        ours.Alltoallw(
            [mine, (ones, at), [block] * size],
            [out.array, (ones, at), [turned] * size],
            algorithm=algorithm,
        )
        assert out.holds(whole.T[n * rank :][:n]), algorithm
    # Each pair of ranks may have types of its own, and some nothing at all.
    kinds = [MPI.INT8_T, MPI.INT32_T, MPI.DOUBLE]

    def kind(i, j):
        return kinds[(i + j) % 3]

    counts = [0 if rank == r else 2 for r in range(size)]
    at = [16 * r for r in range(size)]
    types = [kind(rank, r) for r in range(size)]
    source, into = np.full(16 * size, rank + 1, "u1"), Guarded(16 * size, "u1")
    ours.Alltoallw([source, (counts, at), types], [into.array, (counts, at), types])
    want = Guarded(16 * size, "u1")
    for r in range(size):
        want.array[16 * r :][: counts[r] * types[r].Get_size()] = r + 1
    assert into.holds(want.array)
    for datatype in (block, column, turned):
        datatype.Free()


def test_columns_of_a_matrix(ours, rank, size):
    """Data spread over the whole matrix, blocks one number apart: they interleave."""
    m = 3
    column = MPI.DOUBLE.Create_vector(m, 1, size).Create_resized(0, 8).Commit()
    a = np.full((m, size), -1.0)
    ours.Allgather([np.arange(m) + 10.0 * rank, m, MPI.DOUBLE], [a, 1, column])
    assert np.array_equal(a, np.arange(m)[:, None] + 10.0 * np.arange(size))
    rows_of_mine = np.zeros((size, m))
    ours.Alltoall([a, 1, column], [rows_of_mine, m, MPI.DOUBLE])
    assert np.array_equal(rows_of_mine, np.tile(np.arange(m) + 10.0 * rank, (size, 1)))
    ours.Scatter([a, 1, column] if rank == 0 else None, part := np.zeros(m), 0)
    assert np.array_equal(part, np.arange(m) + 10.0 * rank)
    column.Free()


@pytest.mark.parametrize("spaced", (False, True), ids=("dense", "with gaps"))
def test_user_operations_on_derived_types(ours, rank, size, spaced):
    """The operation gets memory as the datatype lays it out; gaps of the result stay."""
    width = 3 if spaced else 2

    def add(a, b, datatype):
        one, other = (np.frombuffer(m, "i4") for m in (a, b))
        for start in range(0, len(other) - 1, width):
            other[start : start + 2] += one[start : start + 2]

    op = MPI.Op.Create(add, commute=True)
    pair = MPI.INT32_T.Create_contiguous(2).Create_resized(0, 4 * width).Commit()
    n = 2 * size + 1

    def laid_out(numbers):
        sheet = Guarded((n, width), "i4")
        sheet.array[:, :2] = numbers.reshape(n, 2)
        return sheet

    every = rows(size, 2 * n, "i4")
    for algorithm in serving("allreduce", size):
        x, y = laid_out(every[rank]), Guarded((n, width), "i4")
        ours.Allreduce([x.array, n, pair], [y.array, n, pair], op, algorithm=algorithm)
        assert y.holds(laid_out(every.sum(0)).array), algorithm
    for algorithm in serving("reduce", size):
        y = Guarded((n, width), "i4")
        out = [y.array, n, pair] if rank == size - 1 else None
        ours.Reduce([x.array, n, pair], out, op, size - 1, algorithm=algorithm)
        assert rank != size - 1 or y.holds(laid_out(every.sum(0)).array), algorithm
    ours.Scan([x.array, n, pair], [y.array, n, pair], op)
    assert y.holds(laid_out(every[: rank + 1].sum(0)).array)
    assert x.holds(laid_out(every[rank]).array)
    op.Free()
    pair.Free()
