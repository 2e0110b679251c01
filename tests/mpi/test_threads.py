"""Collectives from several threads at a time, each on a communicator of its own."""

import threading

import numpy as np
import pytest
from mpi4py import MPI

import mpicoll


@pytest.mark.skipif(MPI.Query_thread() < MPI.THREAD_MULTIPLE, reason="needs MPI_THREAD_MULTIPLE")
def test_threads_on_different_communicators(comm):
    if comm.size > 4:
        pytest.skip("three busy threads on each of many ranks: minutes on few cores")
    ours = mpicoll.wrap(comm)
    comms = [ours.Dup() for _ in range(3)]
    failures = []

    def work(number, mine):
        try:
            for turn in range(20):
                send, out = np.full(50, float(number + turn)), np.zeros(50)
                request = mine.Iallreduce(send, np.zeros(50))
                mine.Allreduce(send, out)
                assert (out == mine.size * (number + turn)).all()
                assert mine.allgather((number, turn)) == [(number, turn)] * mine.size
                mine.Barrier()
                request.Wait()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(comms)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    for mine in comms:
        mine.Free()
