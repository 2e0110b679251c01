"""The recorder among ranks: clocks that differ, and that nothing of it stays behind."""

import tempfile
import time
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

from mpicoll.errors import PeerError
from mpicoll.execution import state as state_module
from mpicoll.execution.objects import Job
from mpicoll.family import Family
from mpicoll.trace.clock import Clocks
from mpicoll.trace.files import read_rank
from mpicoll.trace.recorder import Recorder

SECOND = 10**9


@pytest.fixture
def folder():
    """One for each rank; pytest's own are swept by whichever rank starts last."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.mark.parametrize("together", (1, 2))
def test_offsets_of_clocks_are_known_to_half_a_round_trip(comm, rank, together):
    host = rank // together

    def clock():
        return time.perf_counter_ns() + host * SECOND

    clocks = Clocks(comm, f"host {host}", clock)
    reading = clocks.read()
    assert abs(reading.offset - host * SECOND) <= reading.error
    assert (reading.error == 0) == (host == 0)
    assert clocks.apart == (host > 0 or (rank == 0 and comm.Get_size() > together))


def places():
    operations = (state_module.Operation, state_module.PersistentOperation)
    return (
        state_module.run,
        Job._run,
        state_module.State.__init__,
        *operations,
        vars(Family).get("Send"),
    )


def test_a_closed_recorder_leaves_nothing_behind(comm, ours, rank, folder):
    before = places()
    recorder = Recorder(1000).open()
    assert all(one is not other for one, other in zip(before, places(), strict=True))
    x, y = np.ones(8), np.empty(8)
    ours.Allreduce(x, y)
    recorder.close(folder)
    assert places() == before
    written = recorder.store.written
    ours.Allreduce(x, y)
    assert recorder.store.written == written
    trace = read_rank(folder / f"rank-{MPI.COMM_WORLD.Get_rank()}.jsonl")
    (call,) = trace.calls
    assert (call["collective"], call["dtype"], call["op"]) == ("allreduce", "double", "SUM")
    assert call["where"].split(":")[0].endswith("test_trace.py")


def test_results_are_the_same_while_recorded(ours, rank, size, folder):
    recorder = Recorder(100_000).open()
    x = np.arange(1000.0) + rank
    for count in (0, 1, 7, 1000):
        y = np.empty(count)
        ours.Allreduce(x[:count], y)
        assert np.array_equal(y, x[:count] * size + size * (size - 1) / 2 - rank * size)
        requests = [ours.Iallreduce(x[:count], y), ours.Ibarrier()]
        MPI.Request.Waitall(requests)
        assert ours.allgather(rank) == list(range(size))
    again = ours.Bcast_init(x)
    for _ in range(2):
        again.Start()
        again.Wait()
    again.Free()
    assert np.array_equal(x, np.arange(1000.0))
    with pytest.raises((ZeroDivisionError, PeerError)):
        ours.allreduce(rank, op=lambda a, b: 1 / 0) if size > 1 else 1 / 0
    recorder.close(folder)
