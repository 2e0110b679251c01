"""Non-blocking and persistent collectives: any order, mixed with anything, never early."""

import time

import numpy as np
import pytest
from mpi4py import MPI

import mpicoll
from mpicoll.execution.progress import progress

ALGORITHMS = ("ring", "recursive_doubling", "rabenseifner", "reduce_bcast")


@pytest.fixture
def ours(comm):
    return mpicoll.wrap(comm)


def sums(comm, count, shift=0):
    return np.arange(float(count)) + comm.rank + shift


def total(comm, count, shift=0):
    return np.arange(float(count)) * comm.size + sum(k + shift for k in range(comm.size))


@pytest.mark.parametrize("count", [1, 1000, 50_000])
def test_several_at_once_end_in_any_order(ours, count):
    jobs = []
    for k, name in enumerate(ALGORITHMS * 2):
        send, receive = sums(ours, count, k), np.zeros(count)
        jobs.append((ours.Iallreduce(send, receive, algorithm=name), send, receive, k))
    order = np.random.default_rng(ours.rank).permutation(len(jobs))
    for i in order:
        request, send, receive, k = jobs[i]
        assert request.Wait() is True
        assert np.array_equal(receive, total(ours, count, k))
        assert np.array_equal(send, sums(ours, count, k))


def test_mpis_own_functions_wait_until_the_data_is_there(ours):
    send = [sums(ours, 30_000, k) for k in range(6)]
    receive = [np.zeros(30_000) for _ in send]

    def start():
        for array in receive:
            array[:] = -1
        return [ours.Iallreduce(s, r) for s, r in zip(send, receive, strict=True)]

    def right(indices=range(6)):
        return all(np.array_equal(receive[k], total(ours, 30_000, k)) for k in indices)

    requests = start()
    time.sleep(0.005 * (ours.rank % 2))
    MPI.Request.Waitall(requests)
    assert right()
    assert all(request.Test() for request in requests)
    requests = start()
    while not MPI.Request.Testall(requests):
        pass
    assert right()
    requests, seen = start(), []
    for _ in requests:
        index = MPI.Request.Waitany(requests)
        assert right([index])
        seen.append(index)
    assert sorted(seen) == list(range(6))
    requests, seen = start(), []
    while len(seen) < 6:
        some = MPI.Request.Waitsome(requests)
        assert right(some)
        seen += some


def test_ours_and_mpis_requests_in_one_list(ours, comm):
    right_rank, left_rank = (ours.rank + 1) % ours.size, (ours.rank - 1) % ours.size

    def start():
        arrays = [np.zeros(5000), np.zeros(300), np.full(300, float(ours.rank))]
        requests = [
            ours.Iallreduce(sums(ours, 5000), arrays[0]),
            comm.Irecv(arrays[1], left_rank, 7),
            comm.Isend(arrays[2], right_rank, 7),
        ]
        return requests, arrays

    def check(arrays):
        assert np.array_equal(arrays[0], total(ours, 5000))
        assert (arrays[1] == left_rank).all()

    requests, arrays = start()
    statuses = []
    assert mpicoll.Request.Waitall(requests, statuses)
    assert statuses[1].Get_source() == left_rank
    check(arrays)
    requests, arrays = start()
    seen = []
    while len(seen) < 3:
        seen += mpicoll.Request.Waitsome(requests)
    check(arrays)
    assert mpicoll.Request.Waitsome(requests) is None
    assert mpicoll.Request.Waitany(requests) == MPI.UNDEFINED
    requests, arrays = start()
    seen = {mpicoll.Request.Waitany(requests) for _ in requests}
    assert seen == {0, 1, 2}
    requests, arrays = start()
    while not mpicoll.Request.Testall(requests):
        pass
    check(arrays)
    found = comm.irecv(source=left_rank, tag=9)
    requests = [ours.Ibarrier(), found, comm.isend("hello", right_rank, tag=9)]
    assert mpicoll.Request.waitall(requests) == [None, "hello", None]


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_rank_that_is_busy_elsewhere_holds_nobody_up(ours, comm, name):
    """Rank 0 sits in a receive, a native or one of our collectives until the others have waited."""
    send, receive = sums(ours, 40_000), np.zeros(40_000)
    token = np.zeros(1)
    for place in ("receive", "native", "ours"):
        request = ours.Iallreduce(send, receive, algorithm=name)
        if ours.rank == 0 and place == "receive":
            for peer in range(1, ours.size):
                comm.Recv(token, peer, 3)
        elif ours.rank:
            request.Wait()
            if place == "receive":
                comm.Send(token, 0, 3)
        if place == "native":
            comm.Barrier()
        elif place == "ours":
            ours.Barrier()
        request.Wait()
        assert np.array_equal(receive, total(ours, 40_000))
    assert not progress.pending


def test_every_form_gives_what_blocking_gives(ours):
    rank, size = ours.rank, ours.size
    block, full = np.arange(3) + 10 * rank, np.arange(3 * size) + 100 * rank
    counts = [k % 3 for k in range(size)]
    part = np.arange(counts[rank]) + 10 * rank
    cases = {
        "Bcast": lambda out: (out, size - 1),
        "Gather": lambda out: (block, out, size - 1),
        "Gatherv": lambda out: (part, [out, counts], 0),
        "Scatter": lambda out: (full, out[:3], size // 2),
        "Scatterv": lambda out: ([full, counts], out[: counts[rank]], 0),
        "Allgather": lambda out: (block, out),
        "Allgatherv": lambda out: (part, [out, counts]),
        "Alltoall": lambda out: (full, out),
        "Alltoallv": lambda out: ([full, [3] * size], [out, [3] * size]),
        "Alltoallw": lambda out: (
            [full, ([3] * size, [24 * k for k in range(size)]), [MPI.INT64_T] * size],
            [out, ([3] * size, [24 * k for k in range(size)]), [MPI.INT64_T] * size],
        ),
        "Reduce": lambda out: (full, out, MPI.MAX, size - 1),
        "Allreduce": lambda out: (full, out, MPI.MIN),
        "Reduce_scatter": lambda out: (full, out[:3], [3] * size),
        "Reduce_scatter_block": lambda out: (full, out[:3]),
        "Scan": lambda out: (full, out),
        "Exscan": lambda out: (full, out),
    }
    for name, arguments in cases.items():
        outputs = []
        for form in ("blocking", "non-blocking", "persistent"):
            out = np.arange(3 * size) + 1000 * rank
            if form == "blocking":
                getattr(ours, name)(*arguments(out))
            elif form == "non-blocking":
                getattr(ours, "I" + name.lower())(*arguments(out)).Wait()
            else:
                request = getattr(ours, name + "_init")(*arguments(out))
                for _ in range(3):
                    out[:] = np.arange(3 * size) + 1000 * rank
                    request.Start()
                    request.Wait()
                request.Free()
            outputs.append(out)
        assert np.array_equal(outputs[0], outputs[1]), name
        assert np.array_equal(outputs[0], outputs[2]), name


def test_persistent_reads_its_buffers_at_each_start(ours):
    send, receive = np.zeros(1000), np.zeros(1000)
    first = ours.Allreduce_init(send, receive, MPI.SUM, MPI.INFO_NULL)
    other = np.zeros(3)
    second = ours.Bcast_init(other, root=ours.size - 1, info=MPI.INFO_NULL)
    for turn in range(5):
        send[:] = ours.rank + turn
        other[:] = 7 * turn if ours.rank == ours.size - 1 else -1
        mpicoll.Prequest.Startall([first, second])
        if turn % 2:
            MPI.Request.Waitall([second, first])
        second.Wait()
        while not first.Test():
            pass
        assert (receive == sum(k + turn for k in range(ours.size))).all()
        assert (other == 7 * turn).all()
    for request in (first, second):
        request.Free()
        with pytest.raises(mpicoll.ArgumentError):
            request.Start()


def test_what_mpi_forbids_is_refused(ours):
    request = ours.Ibarrier()
    with pytest.raises(mpicoll.ArgumentError):
        request.Cancel()
    request.Wait()
    request.Free()
    persistent = ours.Barrier_init()
    assert isinstance(persistent, MPI.Prequest)
    with pytest.raises(MPI.Exception):
        MPI.Prequest.Startall([persistent])
    persistent.Start()
    with pytest.raises(mpicoll.ArgumentError):
        persistent.Start()
    persistent.Wait()
    persistent.Free()


def test_buffers_and_datatypes_may_be_dropped_at_once(ours):
    """A started collective keeps what it needs, also from a user who frees and reuses."""
    size = ours.size
    requests, results = [], []
    for k in range(20):
        every_other = MPI.DOUBLE.Create_vector(3, 1, 2).Commit()
        buffer = np.full(6, -1.0)
        buffer[::2] = k if ours.rank == k % size else -2
        results.append(buffer)
        requests.append(ours.Ibcast([buffer, 1, every_other], root=k % size))
        every_other.Free()
        gathered = np.zeros((size, 4))
        results.append(gathered)
        requests.append(ours.Iallgather(np.full(4, float(ours.rank)), gathered))
    mpicoll.Request.Waitall(requests)
    for k in range(20):
        assert results[2 * k].tolist() == [k, -1, k, -1, k, -1]
        assert (results[2 * k + 1] == np.arange(size)[:, None]).all()


def test_an_error_of_a_round_reaches_whoever_waits(ours):
    """A message that is too long is an error of the request, not a silent success."""
    if ours.size == 1:
        pytest.skip("needs a message")
    buffer = np.zeros(4 if ours.rank == 0 else 2)
    request = ours.Ibcast(buffer, root=0, algorithm="linear")
    if ours.rank == 0:
        request.Wait()
    else:
        with pytest.raises(MPI.Exception):
            request.Wait()
        request.Wait()  # it is used up, and says so no more


def test_nothing_piles_up(ours):
    if ours.size > 4:
        pytest.skip("slow on few cores")
    send, receive = np.ones(1), np.zeros(1)

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4

    for _ in range(300):
        ours.Iallreduce(send, receive).Wait()
    before = resident()
    for _ in range(1000):
        ours.Iallreduce(send, receive).Wait()
    assert not progress.pending
    assert resident() - before < 1024, "KiB"
