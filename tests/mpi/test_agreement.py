"""Ranks that call different collectives: all of them raise, and say who called what."""

import numpy as np
import pytest
from mpi4py import MPI
from support import drain

import mpicoll
from mpicoll.diagnosis.agreement import Agreement
from mpicoll.execution.observe import observe, unobserve

pytestmark = pytest.mark.mpi(min_size=2)


@pytest.fixture
def checked(ours):
    """A communicator whose calls are compared."""
    agreement = Agreement(timeout=30)
    ours.Barrier()  # all are past what others may still be doing
    observe(agreement)
    yield ours
    unobserve(agreement)


def differs(comm, call):
    """The error of a call that differs between ranks: the same text on all of them."""
    with pytest.raises(mpicoll.MismatchError) as caught:
        call()
    text = str(caught.value)
    assert comm.allgather(text) == [text] * comm.size
    return text


def lines_of(text, method):
    return [line for line in text.splitlines() if f" {method}(" in line]


def test_different_order(checked, comm, rank):
    x, y = np.zeros(3), np.zeros(3)
    text = differs(comm, lambda: checked.Bcast(x) if rank == 0 else checked.Reduce(x, y))
    assert text.startswith("different collectives, collective 2 on ")
    assert "rank 0 calls Bcast(root 0, dtype float64, count 3)" in text
    assert len(lines_of(text, "Reduce")) == 1 and "test_agreement.py:" in text
    # And what comes after is compared as if nothing had been.
    checked.Allreduce(x, y)


CALLS = {
    "roots": lambda c, r: c.Bcast(np.zeros(2), root=min(r, 1)),
    "counts": lambda c, r: c.Allreduce(np.zeros(3 + (r == 1)), np.zeros(3 + (r == 1))),
    "dtypes": lambda c, r: c.Bcast(np.zeros(4, "f4" if r else "i4")),
    "ops": lambda c, r: c.Allreduce(
        np.zeros(3), np.zeros(3), op=(MPI.SUM, mpicoll.AVG, MPI.MAX)[min(r, 2)]
    ),
    "algorithms": lambda c, r: c.Allreduce(
        np.zeros(3), np.zeros(3), algorithm=("ring", "recursive_doubling")[r % 2]
    ),
}


@pytest.mark.parametrize("what", ["roots", "counts", "dtypes", "ops", "algorithms"])
def test_one_thing_differs(checked, comm, rank, what):
    text = differs(comm, lambda: CALLS[what](checked, rank))
    first = text.splitlines()[0]
    assert first.startswith(f"different {what} in "), text


@pytest.mark.parametrize("what", ["roots", "counts", "dtypes", "ops", "algorithms"])
def test_non_blocking_and_persistent(checked, comm, rank, what):
    """The same, in the other forms: what was started raises when it is waited for."""

    class Started:
        size = checked.size

        def __getattr__(self, name):
            def call(*arguments, **keywords):
                method = getattr(checked, "I" + name[0].lower() + name[1:])
                method(*arguments, **keywords).Wait()

            return call

    class Prepared:
        def __getattr__(self, name):
            return getattr(checked, name + "_init")

    assert f"different {what} in I" in differs(comm, lambda: CALLS[what](Started(), rank))
    assert f"different {what} in " in differs(comm, lambda: CALLS[what](Prepared(), rank))


def test_blocking_and_non_blocking_do_not_go_together(checked, comm, rank):
    text = differs(comm, lambda: checked.Barrier() if rank else checked.Ibarrier().Wait())
    assert "rank 0 calls Ibarrier()" in text


def test_objects(checked, comm, rank, size):
    assert checked.allreduce(rank) == size * (size - 1) // 2
    text = differs(comm, lambda: checked.bcast(rank, root=min(rank, 1)))
    assert "different roots in bcast" in text
    text = differs(comm, lambda: checked.bcast(rank) if rank else checked.Bcast(np.zeros(2)))
    assert "rank 0 calls Bcast(" in text


def test_counts_of_reduce_scatter(checked, comm, rank, size):
    counts = [1] * size
    counts[0 if rank else 1] += 1
    text = differs(
        comm,
        lambda: checked.Reduce_scatter(np.zeros(size + 1), np.zeros(counts[rank]), counts),
    )
    assert "different counts in Reduce_scatter" in text


def test_parts_that_do_not_fit(checked, comm, rank, size):
    """In Gatherv and Alltoallv pairs of ranks agree; one pair does not here."""
    counts = [1] * size
    counts[1] = 2
    text = differs(
        comm,
        lambda: checked.Gatherv(np.zeros(1), [np.zeros(size + 1), counts] if rank == 0 else None),
    )
    assert "rank 1 sends 1 float64 to rank 0, which expects 2 float64" in text
    sends, receives = [1] * size, [1] * size
    if rank == 0:
        sends[1] = 0
    text = differs(
        comm,
        lambda: checked.Alltoallv([np.zeros(size), sends], [np.zeros(size), receives]),
    )
    assert "rank 0 sends nothing to rank 1, which expects 1 float64" in text


def test_types_of_parts(checked, comm, rank, size):
    own = np.zeros(1, "f4" if rank == 1 else "i4")
    text = differs(
        comm,
        lambda: checked.Gatherv(own, [np.zeros(size, "i4"), [1] * size] if rank == 0 else None),
    )
    assert "rank 1 sends 1 float32 to rank 0, which expects 1 int32" in text


def test_what_may_differ_is_not_flagged(checked, rank, size):
    n = rank + 1
    total = size * (size + 1) // 2
    counts = [r + 1 for r in range(size)]
    whole = [np.zeros(total), counts]
    for root in range(size):
        checked.Gatherv(np.zeros(n), whole if rank == root else None, root)
        checked.Scatterv(whole if rank == root else None, np.zeros(n), root)
        checked.Gather(np.zeros(3), np.zeros(3 * size) if rank == root else None, root)
        checked.Scatter(np.zeros(3 * size) if rank == root else None, np.zeros(3), root)
    checked.Allgatherv(np.zeros(n), whole)
    checked.Reduce_scatter(np.zeros(total), np.zeros(n), counts)
    checked.Reduce_scatter(np.zeros(total), np.zeros(n))
    checked.Reduce_scatter_block(np.zeros(2 * size), np.zeros(2))
    # Rank r sends s + 1 elements to rank s; empty memory of any type where there is nothing.
    checked.Alltoallv([np.zeros(total), counts], [np.zeros(n * size), [n] * size])
    nothing = [np.zeros(0, "f4" if rank else "i8"), [0] * size]
    checked.Alltoallv(nothing, nothing)
    checked.Alltoallw(
        [np.zeros(size), ([1] * size, range(0, 8 * size, 8)), [MPI.DOUBLE] * size],
        [np.zeros(size), ([1] * size, range(0, 8 * size, 8)), [MPI.DOUBLE] * size],
    )
    x = np.zeros(2 * size)
    if rank == 0:
        checked.Gather(MPI.IN_PLACE, x, 0)
        checked.Reduce(MPI.IN_PLACE, x)
        checked.Scatter(x, MPI.IN_PLACE, 0)
    else:
        checked.Gather(np.zeros(2), None, 0)
        checked.Reduce(x, None)
        checked.Scatter(None, np.zeros(2), 0)
    checked.Allgather(MPI.IN_PLACE if rank else np.zeros(2), x)
    checked.Alltoall(MPI.IN_PLACE if rank else np.zeros(2 * size), x)
    checked.Scan(np.zeros(3), np.zeros(3))
    checked.Exscan(MPI.IN_PLACE if rank else np.zeros(3), np.zeros(3))


def test_the_same_signature_by_another_datatype(checked, rank):
    """MPI compares the rows of predefined types, not the datatypes."""
    x = np.full(12, float(rank))
    pair = MPI.DOUBLE.Create_contiguous(2).Commit()
    strided = MPI.DOUBLE.Create_vector(4, 1, 3).Commit()
    if rank == 0:
        checked.Bcast([x, 2, pair])
    else:
        checked.Bcast([x, 1, strided])
        assert x[[0, 3, 6, 9]].tolist() == [0] * 4 and x[1] == rank
    mixed = MPI.Datatype.Create_struct([1, 1], [0, 8], [MPI.INT, MPI.DOUBLE]).Commit()
    twice = mixed.Create_contiguous(2).Commit()
    memory = bytearray(64)
    checked.Bcast([memory, 4, mixed] if rank else [memory, 2, twice])
    for made in (pair, strided, mixed, twice):
        made.Free()


def test_another_signature_of_as_many_bytes(checked, comm, rank):
    pair = MPI.FLOAT.Create_contiguous(2).Commit()
    text = differs(comm, lambda: checked.Bcast([bytearray(32), 4, pair if rank else MPI.DOUBLE]))
    assert "dtype float32, count 8" in text and "dtype float64, count 4" in text
    pair.Free()


def test_one_rank_does_not_come(checked, comm, rank, size):
    patient = Agreement(timeout=1)
    observe(patient)
    try:
        if rank == size - 1:
            comm.recv(source=0)  # which comes when the others have given up
            text = ""
        else:
            with pytest.raises(mpicoll.MismatchError) as caught:
                # The first observer would wait too; what it asks is answered by none.
                checked.Allreduce(np.zeros(2), np.zeros(2))
            text = str(caught.value)
            if rank == 0:
                comm.send(None, size - 1)
    finally:
        unobserve(patient)
    texts = comm.allgather(text)
    drain(checked)  # questions that nobody was there to hear
    comm.Barrier()
    assert all(f"rank {size - 1} has not called Allreduce" in t for t in texts[:-1]), texts


def test_a_started_collective_does_not_wait_when_it_is_called(checked, comm, rank):
    """Rank 1 calls only when it has heard from rank 0, which has called by then."""
    if rank == 0:
        request = checked.Ibarrier()
        comm.send(None, 1)
    elif rank == 1:
        comm.recv(source=0)
        request = checked.Ibarrier()
    else:
        request = checked.Ibarrier()
    request.Wait()


def test_many_at_a_time(checked, rank, size):
    x = [np.full(5, rank + 1.0) for _ in range(4)]
    y = [np.zeros(5) for _ in range(4)]
    requests = [checked.Iallreduce(a, b) for a, b in zip(x, y, strict=True)]
    checked.Barrier()
    MPI.Request.Waitall(requests)
    assert all((b == size * (size + 1) / 2).all() for b in y)


def test_a_sub_communicator_names_ranks_of_the_world(checked, comm, rank, size):
    if size < 3:
        pytest.skip("needs two ranks beside rank 0")
    part = checked.Split(min(rank, 1), rank)
    if rank:
        with pytest.raises(mpicoll.MismatchError, match=f"rank {size - 1} calls Barrier"):
            part.Barrier() if rank == size - 1 else part.Bcast(np.zeros(2))
    part.Free()


def test_it_costs_no_message_of_the_users(checked, comm, rank, size):
    waiting = comm.Irecv(np.zeros(1), MPI.ANY_SOURCE, MPI.ANY_TAG)
    checked.Barrier()
    assert not waiting.Test()
    comm.Barrier()  # all have looked
    comm.Send(np.ones(1), (rank + 1) % size)
    waiting.Wait()
