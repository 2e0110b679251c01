"""The collectives on objects: every algorithm and root, isolation of values, failures."""

import threading
import tracemalloc

import numpy as np
import pytest
from mpi4py import MPI

import mpicoll
from mpicoll.execution import parcels, values
from mpicoll.registry import algorithms_of

COLLECTIVES = ("bcast", "gather", "scatter", "allgather", "alltoall", "reduce", "allreduce")
PREFIXES = ("scan", "exscan")
BIG = 1 << 16  # elements: beyond what pickle keeps to itself


def those_that_serve(collective, size):
    return [a for a in algorithms_of(collective) if not a.unmet(size)]


@pytest.fixture
def ours(comm):
    return mpicoll.Intracomm(comm)


def extend(a, b):
    """Combine in place, as careless operations do."""
    a += b
    return a


def spoil(a, b):
    """Combine, and ruin both arguments."""
    result = a + b
    a.clear()
    b[:] = ["spoilt"]
    return result


def items(rank):
    """Objects of all shapes, for one rank."""
    return [
        None,
        rank,
        "r" * rank,
        [rank, {"k": (rank, None)}],
        bytes([rank]) * 70000,
        {"big": np.full(BIG, rank, "i8"), "small": np.arange(rank), "text": "t" * 5000},
    ]


def same(a, b):
    if isinstance(a, dict) and "big" in a:
        return all(np.array_equal(a[k], b[k]) for k in ("big", "small")) and a["text"] == b["text"]
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("collective", ("bcast", "gather", "scatter"))
def test_every_rooted_algorithm(ours, rank, size, collective):
    for algorithm in those_that_serve(collective, size):
        for root in range(size):
            keywords = {"root": root, "algorithm": algorithm.name}
            for number, mine in enumerate(items(rank)):
                at_root = items(root)[number]
                everyone = [items(r)[number] for r in range(size)]
                if collective == "bcast":
                    given = mine if rank == root else "ignored"
                    assert same(ours.bcast(given, **keywords), at_root), algorithm
                elif collective == "scatter":
                    given = everyone if rank == root else None
                    assert same(ours.scatter(given, **keywords), mine), algorithm
                else:
                    got = ours.gather(mine, **keywords)
                    if rank != root:
                        assert got is None
                    else:
                        assert type(got) is list and all(map(same, got, everyone)), algorithm


@pytest.mark.parametrize("collective", ("allgather", "alltoall"))
def test_every_algorithm_that_moves(ours, rank, size, collective):
    for algorithm in those_that_serve(collective, size):
        for number, mine in enumerate(items(rank)):
            if collective == "allgather":
                got = ours.allgather(mine, algorithm=algorithm.name)
                want = [items(r)[number] for r in range(size)]
                assert all(map(same, got, want)), algorithm
            else:
                got = ours.alltoall([(k, mine) for k in range(size)], algorithm=algorithm.name)
                assert [k for k, _ in got] == [rank] * size
                assert all(same(got[r][1], items(r)[number]) for r in range(size)), algorithm


@pytest.mark.parametrize("combine", (extend, spoil, lambda a, b: a + b))
def test_rank_order_and_untouched_arguments(ours, rank, size, combine):
    for collective in ("allreduce", "reduce", *PREFIXES):
        for algorithm in those_that_serve(collective, size):
            if algorithm.order != "rank":
                continue
            for root in range(size) if collective == "reduce" else (None,):
                keywords = {"algorithm": algorithm.name} | ({} if root is None else {"root": root})
                mine = [rank, str(rank)]
                got = getattr(ours, collective)(mine, op=combine, **keywords)
                last = {"scan": rank, "exscan": rank - 1}.get(collective, size - 1)
                want = [x for r in range(last + 1) for x in (r, str(r))] or None
                assert got == (want if root in (None, rank) else None), algorithm
                assert mine == [rank, str(rank)], algorithm


def test_the_choice_keeps_rank_order_for_sums_of_strings(ours, rank, size):
    word = "".join(map(str, range(size)))
    assert ours.allreduce(str(rank)) == word
    assert ours.allreduce([rank], op=MPI.SUM) == list(range(size))
    for root in range(size):
        assert ours.reduce(str(rank), root=root) == (word if rank == root else None)


def test_commutative_algorithms_need_an_operation_of_mpi(ours, rank, size):
    assert ours.allreduce(rank, MPI.MAX, algorithm="ring") == size - 1
    for operation in (extend, MPI.REPLACE):
        with pytest.raises(mpicoll.RequirementError, match="commutative"):
            ours.allreduce(rank, operation, algorithm="ring")


def test_predefined_operations(ours, rank, size):
    ranks = range(size)
    for operation, want in (
        (MPI.SUM, sum(ranks)),
        (MPI.MAX, size - 1),
        (MPI.MIN, 0),
        (MPI.BOR, np.bitwise_or.reduce(ranks)),
        (MPI.LAND, False),
        (MPI.REPLACE, size - 1),
        (MPI.NO_OP, 0),
    ):
        assert ours.allreduce(rank, operation) == want
    assert ours.allreduce((2.5, size - rank), MPI.MINLOC) == (2.5, 1)
    assert ours.allreduce((float(rank), rank), op=MPI.MAXLOC) == (size - 1.0, size - 1)
    array = np.full(BIG, rank)
    assert np.array_equal(ours.allreduce(array, MPI.SUM), np.full(BIG, sum(ranks)))
    assert np.array_equal(array, np.full(BIG, rank))
    own = MPI.Op.Create(lambda a, b, datatype: a + b)
    assert ours.scan(str(rank), own) == "".join(map(str, range(rank + 1)))
    own.Free()


def test_results_are_nobody_elses(ours, rank, size):
    shared = {"list": [rank], "array": np.zeros(BIG)}
    for result in (
        ours.bcast(shared),
        ours.allgather(shared)[rank],
        ours.scatter([shared] * size if rank == 0 else None),
        *ours.alltoall([shared] * size),
        ours.scan(shared, lambda a, b: a),
        ours.allreduce(shared, lambda a, b: b),
        *(ours.gather(shared) or []),
    ):
        result["list"].append("changed")
        result["array"][:] = -1
        assert len(result["list"]) == 2
    assert shared["list"] == [rank]
    assert not shared["array"].any()


def test_arrays_come_as_good_as_new(ours, rank, size):
    sent = np.arange(3 * BIG, dtype="f8").reshape(3, BIG)
    for algorithm in those_that_serve("bcast", size):
        for array in (sent, np.asfortranarray(sent), sent[:, ::2], sent.astype("i1")):
            got = ours.bcast(array if rank == 0 else None, algorithm=algorithm.name)
            assert np.array_equal(got, array)
            assert got.dtype == array.dtype
            assert got.flags.writeable and got.flags.aligned, algorithm


def test_large_arrays_are_not_copied_into_the_pickle(ours, rank, size):
    array = np.zeros(1 << 23, "u1")
    packed = values.pack(["head", array])
    assert sum(len(segment) for segment in packed.segments[:1]) < 1000
    assert np.shares_memory(np.frombuffer(packed.segments[1], "u1"), array)
    ours.gather(array)
    tracemalloc.start()
    ours.gather(array if rank else None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The root has one array for each that it is given; the others need none at all.
    assert peak < (size - 0.5 if rank == 0 else 0.5) * array.nbytes


def test_messages_are_cut(ours, rank, size, monkeypatch):
    monkeypatch.setattr(parcels, "LARGEST_MESSAGE", 100_000)
    data = {"array": np.arange(BIG) + rank, "bytes": b"b" * 250_001, "words": ["w"] * 50_000}
    got = ours.allgather(data)
    for other in range(size):
        assert np.array_equal(got[other]["array"], np.arange(BIG) + other)
        assert got[other]["bytes"] == data["bytes"] and got[other]["words"] == data["words"]


def test_many_segments(ours, rank, size, monkeypatch):
    monkeypatch.setattr(MPI.pickle, "THRESHOLD", 8)
    arrays = [np.full(1 + k % 50, rank) for k in range(2000)]
    for got in ours.allgather(arrays):
        assert all(np.array_equal(a, np.full(len(a), a[0])) and a.flags.aligned for a in got)
        assert len(got) == 2000


def test_another_serializer(ours, rank, size):
    try:
        MPI.pickle.__init__(lambda x: repr(x).encode(), lambda b: eval(bytes(b).decode()))
        assert ours.allgather({"r": rank}) == [{"r": r} for r in range(size)]
        assert ours.allreduce([rank], extend) == list(range(size))
    finally:
        MPI.pickle.__init__()


def test_mixed_with_pending_collectives_and_user_messages(ours, rank, size):
    total = np.zeros(BIG)
    request = ours.Iallreduce(np.full(BIG, rank, "f8"), total)
    sent = ours.isend("mine", (rank + 1) % size, 1)
    assert ours.allgather(rank) == list(range(size))
    assert ours.bcast("x" * 100_000 if rank == size - 1 else None, size - 1) == "x" * 100_000
    assert ours.recv(source=(rank - 1) % size, tag=1) == "mine"
    sent.wait()
    request.Wait()
    assert np.array_equal(total, np.full(BIG, sum(range(size))))


def test_threads_on_their_own_communicators(comm, rank, size):
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        pytest.skip("needs MPI_THREAD_MULTIPLE")
    several = [comm.Dup() for _ in range(3)]
    results = [None] * 3

    def work(number, ours):
        results[number] = [ours.allreduce([(number, rank, k)]) for k in range(20)]

    threads = [
        threading.Thread(target=work, args=(k, mpicoll.Intracomm(c))) for k, c in enumerate(several)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, result in enumerate(results):
        assert result == [[(number, r, k) for r in range(size)] for k in range(20)]
    for each in several:
        each.Free()


class Unpicklable:
    def __reduce__(self):
        raise ZeroDivisionError("no pickle of me")


class Unloadable:
    def __reduce__(self):
        return int, ("not a number",)


def test_wrong_numbers_of_items(ours, rank, size):
    last = size - 1
    with pytest.raises(ValueError, match=f"expecting {size} items, got {size + 1}"):
        ours.alltoall([None] * (size + 1))
    error = ValueError if rank == last else mpicoll.PeerError
    with pytest.raises(error, match=f"expecting {size} items, got {size + 2}"):
        ours.scatter([0] * (size + 2) if rank == last else None, root=last)
    with pytest.raises(error, match=f"expecting {size} items, got 0"):
        ours.alltoall([0] * size if rank != last else [])
    assert ours.scatter(range(size), 0) == rank
    assert ours.alltoall(None) == [None] * size


def test_an_object_that_cannot_be_pickled(ours, rank, size):
    for algorithm in those_that_serve("allgather", size):
        error = ZeroDivisionError if rank == 0 else mpicoll.PeerError
        with pytest.raises(error, match="no pickle of me"):
            ours.allgather(rank if rank else Unpicklable(), algorithm=algorithm.name)
    # Only those who should have got it are concerned.
    last = size - 1
    gift = [Unpicklable() if k == last else k for k in range(size)] if rank == 0 else range(size)
    if rank == 0:
        with pytest.raises(ZeroDivisionError):
            ours.alltoall(gift)
    elif rank == last:
        with pytest.raises(mpicoll.PeerError, match="rank 0 failed") as caught:
            ours.alltoall(gift)
        assert caught.value.rank == 0 and "ZeroDivisionError" in caught.value.account
    else:
        assert ours.alltoall(gift) == [rank] * size
    assert ours.allgather(rank) == list(range(size))


def test_an_object_that_cannot_be_loaded(ours, rank, size):
    with pytest.raises(ValueError, match="invalid literal"):
        ours.bcast(Unloadable())
    assert ours.bcast(rank) == 0


def test_an_operation_that_raises(ours, rank, size):
    def fragile(a, b):
        if "x" in b:
            raise KeyError("x is not welcome")
        return a + b

    word = "x" if rank == size - 1 else "a"
    if size == 1:
        assert ours.allreduce(word, fragile) == "x"
        return
    for algorithm in those_that_serve("allreduce", size):
        if algorithm.order == "rank":
            with pytest.raises((KeyError, mpicoll.PeerError), match="x is not welcome"):
                ours.allreduce(word, fragile, algorithm=algorithm.name)
    if rank < size - 1:
        assert ours.scan(word, fragile) == "a" * (rank + 1)
    else:
        with pytest.raises(KeyError):
            ours.scan(word, fragile)
    assert ours.allreduce(rank) == sum(range(size))


def test_wrong_arguments(ours, size):
    for root in (-1, size):
        for call in (ours.bcast, ours.gather, ours.scatter):
            with pytest.raises(MPI.Exception) as caught:
                call(None, root=root)
            assert caught.value.Get_error_class() == MPI.ERR_ROOT
        with pytest.raises(MPI.Exception) as caught:
            ours.reduce(None, MPI.SUM, root)
        assert caught.value.Get_error_class() == MPI.ERR_ROOT
    with pytest.raises(TypeError):
        ours.bcast(None, root="zero")
    with pytest.raises(ValueError, match="no algorithm"):
        ours.bcast(None, algorithm="none such")
    with pytest.raises(TypeError, match="no parameter"):
        ours.bcast(None, algorithm="binomial", radix=3)
    ours.barrier()


@pytest.mark.big
def test_beyond_two_gigabytes(ours, rank, size):
    data = np.ones((1 << 31) + 5, "u1") if rank == 0 else None
    got = ours.bcast({"data": data})["data"]
    assert len(got) == (1 << 31) + 5 and got[-1] == 1
