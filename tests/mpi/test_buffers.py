"""Which memory may be passed, how it may be described, and what stays untouched."""

import array

import numpy as np
import pytest
from mpi4py import MPI
from support import Guarded, OnlyDLPack, raised, rows, values

import mpicoll


def strided(fill):
    whole = np.full((len(fill), 3), -1.0)
    whole[:, 1] = fill
    return whole, whole[:, 1]


def reversed_view(fill):
    whole = np.array(fill[::-1])
    return whole, whole[::-1]


def columns(fill):
    whole = np.full((len(fill) // 2, 5), -1.0)
    whole[:, 1:3] = fill.reshape(-1, 2)
    return whole, whole[:, 1:3]


@pytest.mark.parametrize("view", (strided, reversed_view, columns))
def test_memory_with_strides_is_refused_before_any_message(ours, rank, size, view):
    n = 4 * size
    whole, x = view(values(rank, n, "f8"))
    before = whole.copy()
    y, wide = np.zeros_like(x, order="C"), np.zeros(n * size)
    narrow = np.zeros(4)
    calls = [
        lambda: ours.Bcast(x, size - 1),
        lambda: ours.Allreduce(x, y),
        lambda: ours.Allreduce(y, x),
        lambda: ours.Allreduce(MPI.IN_PLACE, x),
        lambda: ours.Reduce(x, y if rank == 0 else None),
        lambda: ours.Gather(x, wide if rank == 0 else None),
        lambda: ours.Scatter(wide if rank == 0 else None, x),
        lambda: ours.Allgather(x, wide),
        lambda: ours.Alltoall(x, y),
        lambda: ours.Alltoallv([x, [4] * size], [y, [4] * size]),
        lambda: ours.Reduce_scatter_block(x, narrow),
        lambda: ours.Reduce_scatter(x, narrow, [4] * size),
        lambda: ours.Scan(x, y),
        lambda: ours.Exscan(x, y),
    ]
    for number, call in enumerate(calls):
        error = raised(call)
        assert isinstance(error, (BufferError, ValueError)), (number, error)
        assert "contiguous" in str(error)
    assert np.array_equal(whole, before) and not y.any() and not wide.any()
    # Nothing is left behind: the next call gets its own data.
    ours.Allreduce(np.full(3, rank + 1.0), total := np.zeros(3))
    assert (total == size * (size + 1) / 2).all()


def test_strides_said_with_a_datatype_are_obeyed(ours, rank, size):
    whole, _ = strided(values(rank, 4, "f8"))
    column = MPI.DOUBLE.Create_vector(4, 1, 3).Commit()
    for root in range(size):
        mine = whole.copy()
        ours.Bcast([mine.ravel()[1:], 1, column], root)
        assert np.array_equal(mine[:, 1], values(root, 4, "f8"))
        assert (mine[:, [0, 2]] == -1).all()
    column.Free()


def test_views_with_an_offset_keep_their_neighbours(ours, rank, size):
    for root in range(size):
        big = np.arange(30.0).reshape(5, 6) + 100 * rank
        before = big.copy()
        ours.Bcast(big[1:3], root)
        assert np.array_equal(big[1:3], before[1:3] - 100 * rank + 100 * root)
        assert np.array_equal(big[[0, 3, 4]], before[[0, 3, 4]])
        source = np.arange(3 * size + 5) + 1000 * rank
        part = Guarded(3)
        ours.Scatter(source[2:-3] if rank == root else None, part.array, root)
        assert part.holds(np.arange(3) + 3 * rank + 2 + 1000 * root)
        box = Guarded((size, 3))
        ours.Gather(source[1:4], box.array if rank == root else None, root)
        expected = np.arange(1, 4) + 1000 * np.arange(size)[:, None]
        assert box.holds(expected) if rank == root else box.untouched
    odd = np.zeros(8 * size + 1, "u1")[1:].view("i8")  # not aligned
    ours.Allgather(np.array([rank]), odd)
    assert odd.tolist() == list(range(size))
    odd[:] = rank
    total = np.zeros(8 * size + 1, "u1")[1:].view("i8")
    ours.Allreduce(odd, total)
    assert (total == size * (size - 1) // 2).all()


def test_read_only_memory_can_be_sent_and_not_received_into(ours, rank, size):
    x = values(rank, 2 * size, "f8")
    x.flags.writeable = False
    y, total = np.zeros(2 * size), rows(size, 2 * size, "f8").sum(0)
    ours.Allreduce(x, y)
    assert np.array_equal(y, total)
    ours.Scan(x, y)
    ours.Alltoall(x, y)
    assert np.array_equal(y.reshape(size, 2), rows(size, 2 * size, "f8")[:, 2 * rank :][:, :2])
    ours.Reduce_scatter_block(x, part := np.zeros(2))
    assert np.array_equal(part, total[2 * rank : 2 * rank + 2])
    ours.Scatter(x, part, size - 1)
    ours.Gather(bytes([rank, 7]), box := bytearray(2 * size))
    assert rank or bytes(box) == bytes(b for r in range(size) for b in (r, 7))
    # The root of Bcast only reads.
    for root in range(size):
        message = f"from {root}".encode() if rank == root else bytearray(6)
        ours.Bcast(message, root)
        assert bytes(message) == f"from {root}".encode()
    locked = np.zeros(2 * size)
    locked.flags.writeable = False
    refusals = [
        lambda: ours.Allreduce(y, locked),
        lambda: ours.Allreduce(MPI.IN_PLACE, locked),
        lambda: ours.Allgather(part, locked),
        lambda: ours.Alltoall(y, locked),
        lambda: ours.Scan(y, locked),
        lambda: ours.Exscan(y, locked),
        lambda: ours.Reduce_scatter_block(np.zeros(2 * size * size), locked),
        lambda: ours.Scatter(None if rank else np.zeros(2 * size * size), locked),
        lambda: ours.Allgather(b"ab", bytes(2 * size)),
        lambda: ours.Allgatherv(b"ab", [bytes(2 * size), [2] * size]),
    ]
    for number, call in enumerate(refusals):
        assert isinstance(raised(call), (BufferError, ValueError, TypeError)), number
    if rank == 0:
        assert raised(ours.Reduce, y, locked) and raised(ours.Gather, part, locked)
    else:
        ours.state.next_tag(), ours.state.next_tag()  # the others do not call: keep in step
    assert not locked.any()
    ours.Allreduce(x, y)
    assert np.array_equal(y, total)


KINDS_OF_MEMORY = {
    "bytearray": lambda x: (bytearray(x), lambda b: np.frombuffer(b, x.dtype)),
    "array": lambda x: (array.array("q", x), lambda b: np.frombuffer(b, x.dtype)),
    "memoryview": lambda x: (memoryview(x.copy()), lambda b: np.asarray(b)),
    "mpi buffer": lambda x: (MPI.buffer.frombuffer(x.copy()), lambda b: np.frombuffer(b, x.dtype)),
    "fortran": lambda x: (x.copy().reshape(-1, min(2, len(x))).T, lambda b: b.ravel("K")),
    "dlpack": lambda x: (OnlyDLPack(x.copy()), lambda b: b.array),
    "subclass": lambda x: (x.copy().view(np.recarray), np.asarray),
    "0-d": lambda x: (np.array(x[0]), lambda b: b.reshape(1)),
}


@pytest.mark.parametrize("kind", KINDS_OF_MEMORY)
def test_every_kind_of_memory_is_sent_and_received_into(ours, rank, size, kind):
    make = KINDS_OF_MEMORY[kind]
    for root in range(size):
        buffer, read = make(values(rank, 6))
        ours.Bcast(buffer, root)
        n = len(read(buffer))
        assert np.array_equal(read(buffer), values(root, 6)[:n])
    mine, _ = make(values(rank, 6))
    every = np.zeros((size, n), "i8")
    ours.Allgather(mine, every if kind not in ("bytearray", "mpi buffer") else every.view("u1"))
    assert np.array_equal(every, rows(size, 6)[:, :n])
    if kind not in ("bytearray", "mpi buffer"):  # those are bytes, as for mpi4py
        out, read = make(np.zeros(6, "i8"))
        ours.Allreduce(mine, out)
        assert np.array_equal(read(out), rows(size, 6).sum(0)[:n])
    else:
        out, read = make(np.zeros(6, "i8"))
        ours.Allreduce([mine, MPI.INT64_T], [out, "i8"])
        assert np.array_equal(read(out), rows(size, 6).sum(0))


def outcome(comm, name, make):
    """What became of a call on one rank: the bytes of all arrays, or the error's type."""
    arguments, arrays = make()
    error = raised(getattr(comm, name), *arguments)
    return error, [a.tobytes() if isinstance(a, np.ndarray) else bytes(a) for a in arrays]


def spec_cases():
    """Ways to describe memory, good and bad, for a buffer of eight doubles."""
    double, vector = MPI.DOUBLE, MPI.DOUBLE.Create_vector(2, 1, 2).Commit()
    cases = {
        "array": lambda b: b,
        "count": lambda b: [b, 2],
        "numpy count": lambda b: [b, np.int16(2)],
        "float count": lambda b: [b, 2.0],
        "type": lambda b: [b, double],
        "type string": lambda b: [b, "d"],
        "numpy type string": lambda b: (b, "f8"),
        "unknown type string": lambda b: [b, "zz"],
        "count and type": lambda b: (b, 3, double),
        "count, displacement": lambda b: [b, (2, 1)],
        "count, displacement, type": lambda b: [b, (2, 1), "d"],
        "list of count, displacement": lambda b: [b, [2, 1], double],
        "no count, displacement": lambda b: [b, (None, 4), double],
        "four": lambda b: [b, 2, 1, double],
        "four without displacement": lambda b: [b, 2, None, double],
        "four without count": lambda b: [b, None, 4, double],
        "four without type": lambda b: [b, 2, 1, None],
        "three without count": lambda b: [b, None, double],
        "all None": lambda b: [b, None, None],
        "one item": lambda b: [b],
        "five items": lambda b: [b, 1, 1, double, 1],
        "no items": lambda b: [],
        "negative count": lambda b: [b, -1],
        "negative displacement": lambda b: [b, 1, -1, double],
        "displacement at the end": lambda b: [b, 0, 8, double],
        "displacement beyond": lambda b: [b, 0, 9, double],
        "two strided": lambda b: [b, 2, vector],
        "strided, inferred": lambda b: [b[:6], vector],
        "strided, not inferred": lambda b: [b[:5], vector],
        "bytes": lambda b: [b, MPI.BYTE],
        "other type": lambda b: [b, MPI.INT],
        "None": lambda b: None,
        "None with a type": lambda b: [None, double],
        "None with nothing": lambda b: [None, 0, double],
        "None with something": lambda b: [None, 1, double],
        "BOTTOM": lambda b: MPI.BOTTOM,
        "BOTTOM with nothing": lambda b: [MPI.BOTTOM, 0, double],
        "number": lambda b: 3,
        "text": lambda b: "abc",
        "foreign byte order": lambda b: b.astype(">f8"),
        "foreign byte order, type": lambda b: [b.astype(">f8"), double],
        "half": lambda b: np.zeros(2, "f2"),
        "objects": lambda b: np.array([1, None], object),
        "unicode": lambda b: np.array(["ab", "c"]),
        "dates": lambda b: np.zeros(2, "M8[s]"),
        "dates as integers": lambda b: [np.zeros(2, "M8[s]"), MPI.INT64_T],
        "raw": lambda b: np.zeros(2, "V3"),
        "structured": lambda b: np.zeros(2, "i4,f8"),
        "structured as bytes": lambda b: [np.zeros(2, "i4,f8"), MPI.BYTE],
        "long double": lambda b: b.astype("g"),
        "nothing": lambda b: np.zeros((0, 3)),
        "nothing, strided": lambda b: np.zeros((4, 0, 3))[::2],
    }
    return cases, vector


def test_specifications_are_read_as_mpi4py_reads_them(rank):
    """One rank alone: the same bytes, or refused by both, with a type that mpi4py's users catch."""
    native, ours = MPI.COMM_SELF.Dup(), mpicoll.wrap(MPI.COMM_SELF.Dup())
    cases, vector = spec_cases()
    names = ["Bcast", "Allreduce", "Allgather", "Alltoall", "Scan", "Gather", "Scatter", "Reduce"]
    names += ["Reduce_scatter_block"]
    differences = []
    for name in names:
        for title, describe in cases.items():

            def make(name=name, describe=describe):
                one, other = np.arange(8.0), np.full(8, -1.0)
                if name == "Bcast":
                    return (describe(one),), (one,)
                return (describe(one), describe(other)), (one, other)

            expected, before = outcome(native, name, make)
            got, after = outcome(ours, name, make)
            if (expected is None) != (got is None) or (expected is None and before != after):
                differences.append(f"{name}({title}): mpi4py {expected!r}, here {got!r}")
            elif not isinstance(got, (type(expected), TypeError, ValueError, KeyError)):
                differences.append(f"{name}({title}): mpi4py {expected!r}, here {got!r}")
    vector.Free()
    native.Free()
    ours.Free()
    assert not differences, "\n".join(differences)


def test_specifications_move_what_they_say(ours, rank, size):
    for root in range(size):
        x = np.arange(8.0) + 100 * rank
        for spec, moved in (
            ([x, 3], slice(0, 3)),
            ([x, (3, 2), MPI.DOUBLE], slice(2, 5)),
            ([x, 2, 5, "d"], slice(5, 7)),
            ([x, None, 6, MPI.DOUBLE], slice(6, 8)),
        ):
            x[:] = np.arange(8.0) + 100 * rank
            expected = x.copy()
            expected[moved] += 100 * (root - rank)
            ours.Bcast(spec, root)
            assert np.array_equal(x, expected), (root, moved)


def test_bottom_with_absolute_addresses(ours, rank, size):
    a, b = np.full(3, rank, "i4"), np.full(2, rank + 0.5)
    where = [MPI.Get_address(a), MPI.Get_address(b)]
    both = MPI.Datatype.Create_struct([3, 2], where, [MPI.INT, MPI.DOUBLE]).Commit()
    for root in range(size):
        a[:], b[:] = rank, rank + 0.5
        ours.Bcast([MPI.BOTTOM, 1, both], root)
        assert a.tolist() == [root] * 3 and b.tolist() == [root + 0.5] * 2
    a[:], b[:] = rank, rank + 0.5
    box = np.zeros((size, 28), "u1")
    ours.Gather([MPI.BOTTOM, 1, both], [box, 28, MPI.BYTE] if rank == size - 1 else None, size - 1)
    if rank == size - 1:
        for r in range(size):
            assert box[r, :12].view("i4").tolist() == [r] * 3
            assert box[r, 12:].copy().view("f8").tolist() == [r + 0.5] * 2
    both.Free()


def test_what_is_not_received_into_stays(ours, rank, size):
    for n in (1, 5, 4097):
        x, wide = values(rank, n), values(rank, n * size)
        kept, kept_wide = x.copy(), wide.copy()
        for root in range(size):
            out, box = Guarded(n), Guarded((size, n))
            ours.Reduce(x, out.array, root=root)
            ours.Gather(x, box.array, root)
            ours.Gatherv(x, [box.array, [n] * size], root)
            if rank == root:
                assert out.holds(rows(size, n).sum(0)) and box.holds(rows(size, n))
            else:
                assert out.untouched and box.untouched
            # Where nothing is received or sent, None will do, and so will rubbish.
            ours.Reduce(x, out.array if rank == root else None, root=root)
            ours.Gather(x, box.array if rank == root else "rubbish", root)
            ours.Scatter(wide if rank == root else None, out.array, root)
            ours.Scatterv([wide, [n] * size] if rank == root else [None, None], out.array, root)
            assert out.holds(values(root, n * size)[rank * n :][:n])
        ours.Allreduce(wide, into := np.zeros(n * size, "i8"))
        ours.Alltoall(wide, into)
        ours.Scan(wide, into)
        ours.Reduce_scatter_block(wide, np.zeros(n, "i8"))
        ours.Reduce_scatter(wide, np.zeros(n, "i8"), [n] * size)
        ours.Allgather(x, into)
        first = Guarded(n)
        ours.Exscan(x, first.array)
        assert first.untouched if rank == 0 else first.holds(rows(size, n)[:rank].sum(0))
        assert np.array_equal(x, kept) and np.array_equal(wide, kept_wide)
