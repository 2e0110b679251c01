"""Observers see every collective: what it is, before and after, in all forms."""

import numpy as np
import pytest
from mpi4py import MPI

import mpicoll
from mpicoll.diagnosis.communicators import members, title
from mpicoll.execution import observe as seam
from mpicoll.execution.state import State

HERE = __file__


class Log:
    """Keeps what it sees; refuses the calls of one method if it is told to."""

    def __init__(self, refuses=None):
        self.begun, self.ended, self.refuses = [], [], refuses

    def before(self, event):
        assert seam.current() is event
        if event.method == self.refuses:
            raise RuntimeError("refused")
        self.begun.append((event, event.where))

    def after(self, event, error):
        self.ended.append((event, error))

    @property
    def methods(self):
        return [event.method for event, _ in self.begun]


@pytest.fixture
def log():
    log = Log()
    seam.observe(log)
    yield log
    if log in seam._observers:
        seam.unobserve(log)


def test_what_an_event_says(log, comm, ours, rank, size):
    x, y = np.full(6, rank + 1.0), np.zeros(6)
    for _ in range(2):  # the second time there would be a shortcut
        ours.Allreduce(x, y, op=MPI.MAX, algorithm="ring")
    ours.Ibcast(y, root=size - 1).Wait()
    ours.Gatherv(x, [np.zeros(6 * size), [6] * size] if rank == 0 else None)
    assert log.methods == ["Allreduce", "Allreduce", "Ibcast", "Gatherv"]
    first, again, started, gathered = (event for event, _ in log.begun)
    assert first.state is ours.state and first.collective == "allreduce"
    assert (first.form, first.algorithm, first.parameters) == ("blocking", "ring", {})
    assert (first.nbytes, first.operation, first.root) == (48, MPI.MAX, 0)
    send, receive = first.call.buffers
    assert (send.count, receive.count) == (6, 6) and send.address == MPI.buffer(x).address
    assert [event.number for event, _ in log.begun] == [1, 2, 3, 4]
    assert comm.allreduce(again.bytes_sent) == 2 * (size - 1) * 48  # as declared for the ring
    assert (started.form, started.collective, started.root) == ("non-blocking", "bcast", size - 1)
    assert (started.call.buffers[0] is None) == (rank != size - 1)
    assert (gathered.call.buffers[1] is None) == (rank != 0)
    assert all(where.file == HERE and "test_what" in where.function for _, where in log.begun)
    assert [event for event, error in log.ended if error is None] == [e for e, _ in log.begun]


def test_objects_take_one_number(log, ours, rank, size):
    assert ours.allgather(rank) == list(range(size))
    ours.bcast("x", size - 1)
    ours.Barrier()
    assert [(e.method, e.form, e.number) for e, _ in log.begun] == [
        ("allgather", "objects", 1),
        ("bcast", "objects", 2),
        ("Barrier", "blocking", 3),
    ]
    assert log.begun[1][0].root == size - 1
    if size > 1 and rank == size - 1:
        assert log.begun[1][0].bytes_sent > 0


def test_persistent(log, ours, rank):
    x = np.full(3, rank)
    request = ours.Bcast_init(x)
    for _ in range(2):
        request.Start()
        request.Wait()
    request.Free()
    assert [(e.form, e.number, e.start) for e, _ in log.begun] == [
        ("prepared", 1, 0),
        ("persistent", 1, 1),
        ("persistent", 1, 2),
    ]
    assert len(log.ended) == 3


def test_after_comes_when_a_started_call_is_complete(log, ours, rank, size):
    if size == 1:
        pytest.skip("nothing to wait for")
    if rank == 0:
        request = ours.Ibarrier()
        assert not log.ended
        ours.send(None, 1)
        request.Wait()
    elif rank == 1:
        ours.recv(source=0)
        ours.Ibarrier().Wait()
    else:
        ours.Ibarrier().Wait()
    assert [error for _, error in log.ended] == [None]


def test_what_before_raises_is_raised_and_nothing_is_sent(log, ours):
    second = Log(refuses="Allreduce")
    seam.observe(second)
    with pytest.raises(RuntimeError, match="refused"):
        ours.Allreduce(bytes(8), bytearray(8))
    (event, error) = log.ended[0]
    assert str(error) == "refused" and not second.ended and event.bound is None
    seam.unobserve(second)
    ours.Allreduce(bytes(8), bytearray(8))
    assert log.ended[-1][1] is None and seam.current() is None


def test_errors_of_the_call_arrive(log, ours):
    def raises(left, right):
        raise ArithmeticError("no")

    if ours.size == 1:
        pytest.skip("nothing to combine")
    with pytest.raises((ArithmeticError, mpicoll.PeerError)) as caught:
        ours.allreduce(1, op=raises)
    assert log.ended[0][1] is caught.value


def test_nothing_is_left_when_nobody_observes(log, ours):
    assert State.perform.__qualname__ != "State.perform"
    seam.unobserve(log)
    assert State.perform.__qualname__ == "State.perform"
    ours.Barrier()
    assert not log.begun
    with pytest.raises(ValueError):
        seam.unobserve(log)


def test_inter_communicators_and_neighbours(log, ours, rank, size):
    if size == 1:
        pytest.skip("needs two groups")
    half = ours.Split(rank % 2, rank)
    inter = half.Create_intercomm(0, ours, 1 - rank % 2, 7)
    inter.Allgather(np.array([rank]), np.zeros(inter.remote_size, "i8"))
    grid = ours.Create_cart([size], periods=[True])
    grid.Neighbor_allgather(np.array([rank]), np.zeros(2, "i8"))
    assert log.methods == ["Allgather", "Neighbor_allgather"]
    assert all(event.algorithm == "linear" for event, _ in log.begun)
    assert all(None not in event.call.buffers for event, _ in log.begun)
    for made in (grid, inter, half):
        made.Free()


def test_titles_agree(comm, ours, rank, size):
    world = mpicoll.Intracomm(MPI.COMM_WORLD)
    assert title(world.state) == "COMM_WORLD"
    assert members(ours.state) == tuple(range(size))
    twin = ours.Dup()
    names = [title(ours.state), title(twin.state)]
    assert names[0] != names[1] and comm.allgather(names) == [names] * size
    part = ours.Split(rank % 2, -rank)
    assert members(part.state) == tuple(range(rank % 2, size, 2))[::-1]
    for made in (part, twin):
        made.Free()
