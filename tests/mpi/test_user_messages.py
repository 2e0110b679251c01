"""The user's own messages on the same communicator: collectives and they never meet."""

import numpy as np
from mpi4py import MPI


def some_collectives(ours):
    rank, size = ours.Get_rank(), ours.Get_size()
    ours.Allreduce(np.full(4, rank + 1.0), y := np.zeros(4))
    assert (y == size * (size + 1) / 2).all()
    for root in range(size):
        ours.Bcast(b := np.full(5, rank), root)
        assert (b == root).all()
    ours.Alltoall(np.arange(size) + 10 * rank, t := np.zeros(size, "i8"))
    assert t.tolist() == [10 * r + rank for r in range(size)]
    ours.Scan(np.array([1]), s := np.zeros(1, "i8"))
    assert s[0] == rank + 1
    ours.Barrier()


def test_wildcards_catch_no_message_of_a_collective(comm, ours, rank, size):
    caught = np.full(1, -1)
    waiting = comm.Irecv(caught, MPI.ANY_SOURCE, MPI.ANY_TAG)  # posted first, served last
    some_collectives(ours)
    assert not waiting.Test() and not comm.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG)
    comm.Barrier()  # all have looked
    right, left = (rank + 1) % size, (rank - 1) % size
    comm.Send(np.array([1000 + rank]), right, 5)
    waiting.Wait()
    assert caught[0] == 1000 + left


def test_collectives_take_no_message_of_the_user(comm, ours, rank, size):
    right, left = (rank + 1) % size, (rank - 1) % size
    highest = MPI.COMM_WORLD.Get_attr(MPI.TAG_UB)
    calls = ours.state.calls
    tags = sorted({0, 1, 2, 3, 100, 32767, highest, *range(2 * calls, 2 * calls + 60)})
    mail = [comm.Isend(np.array([rank, tag]), right, tag) for tag in tags]
    comm.Barrier()  # they are all on their way, or there
    some_collectives(ours)
    got = np.zeros(2, "i8")
    for tag in reversed(tags):
        ours.Recv(got, left, tag)  # the wrapped communicator is the same for messages
        assert got.tolist() == [left, tag]
    MPI.Request.Waitall(mail)


def test_a_collective_that_others_have_begun_cannot_be_probed(comm, ours, rank, size):
    x, box = np.full(3, rank), np.zeros((size, 3), "i8")
    if rank:
        ours.Gather(x, None, 0, algorithm="linear")  # short: sent at once
    comm.Barrier()
    if rank == 0:
        assert not any(comm.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG) for _ in range(50))
        ours.Gather(x, box, 0, algorithm="linear")
        assert box[:, 0].tolist() == list(range(size))


def test_collectives_and_messages_in_turn(comm, ours, rank, size):
    right, left = (rank + 1) % size, (rank - 1) % size
    got = np.zeros(1, "i8")
    for turn in range(5):
        ours.Sendrecv(np.array([turn + rank]), right, turn, got, left, MPI.ANY_TAG)
        assert got[0] == turn + left
        ours.Allreduce(got, total := np.zeros(1, "i8"))
        assert total[0] == size * turn + size * (size - 1) // 2


def test_native_collectives_and_ours_in_turn(comm, ours, rank, size):
    for turn in range(5):
        comm.Allreduce(np.array([rank + turn]), a := np.zeros(1, "i8"))
        ours.Allreduce(np.array([rank + turn]), b := np.zeros(1, "i8"))
        assert a[0] == b[0]
