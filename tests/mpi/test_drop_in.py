"""Corners of mpi4py's interface that programs rely on without knowing."""

import pickle

import numpy as np
import pytest
from mpi4py import MPI
from support import OnlyDLPack

import mpicoll
from mpicoll.execution.foreign import format_of


@pytest.fixture
def ours(comm):
    return mpicoll.Intracomm(comm)


@pytest.mark.parametrize("code", "bhilqBHILQfdFD?")
def test_formats_by_dlpack(ours, rank, size, code):
    mine, total = np.ones(3, code), np.zeros(3, code)
    text = format_of(OnlyDLPack(mine))
    assert np.dtype(text.replace("Zf", "F").replace("Zd", "D")) == mine.dtype
    if code != "?":
        ours.Allreduce(OnlyDLPack(mine), OnlyDLPack(total))
        assert (total == size).all()


def test_half_precision_by_dlpack(ours, size):
    total = np.zeros(3, "f2")
    ours.Allreduce(OnlyDLPack(np.ones(3, "f2")), OnlyDLPack(total))
    assert (total == size).all()


def test_a_request_of_mpi_in_our_class_is_waited_for(ours, rank, size):
    got = np.zeros(1, "i4")
    right, left = (rank + 1) % size, (rank - 1) % size
    receive = mpicoll.Request(ours.Irecv(got, left))
    assert not mpicoll.Request.Testall([receive]) and not receive.Test()
    ours.Barrier()
    send = ours.Isend(np.array([rank + 1], "i4"), right)
    receive.Wait()
    assert got[0] == left + 1 and receive == MPI.REQUEST_NULL
    mpicoll.Request.Waitall([send, mpicoll.Request()])


def test_inactive_persistent_messages_are_passed_over(ours, rank, size):
    memory = bytearray(1)
    messages = [
        ours.Send_init(b"x", (rank + 1) % size),
        mpicoll.Prequest(ours.Recv_init(memory, (rank - 1) % size)),
    ]
    for _ in range(2):
        mpicoll.Prequest.Startall(messages)
        pending = ours.Ibarrier()
        found = {mpicoll.Request.Waitany(messages) for _ in messages}
        assert found == {0, 1} and memory == b"x"
        assert mpicoll.Request.Waitany(messages) == MPI.UNDEFINED
        assert mpicoll.Request.waitsome(messages) == (None, None)
        pending.Wait()
    for message in messages:
        message.Free()


def test_statuses_are_filled(ours, rank, size):
    statuses = [MPI.Status(), MPI.Status()]
    got = bytearray(4)
    requests = [ours.Irecv(got, rank, 7), ours.Isend(b"four", rank, 7)]
    pending = ours.Ibarrier()
    assert mpicoll.Request.Waitall(requests, statuses)
    assert (statuses[0].source, statuses[0].tag, statuses[0].count) == (rank, 7, 4)
    pending.Wait()


def test_absolute_addresses_are_not_aliases(ours, rank, size):
    sent, got = np.full(size, rank, "i4"), np.zeros(size, "i4")
    types = [
        [MPI.INT.Create_hindexed([1], [MPI.Get_address(array[r:])]).Commit() for r in range(size)]
        for array in (sent, got)
    ]
    ones, zeros = [1] * size, [0] * size
    ours.Alltoallw(*([MPI.BOTTOM, ones, zeros, kinds] for kinds in types))
    assert got.tolist() == list(range(size))
    for kind in types[0] + types[1]:
        kind.Free()


def test_a_class_takes_its_own_topology_only(ours, size):
    cart = ours.Create_cart([size])
    assert type(mpicoll.Cartcomm(cart)) is mpicoll.Cartcomm
    for other in (mpicoll.Graphcomm, mpicoll.Distgraphcomm):
        with pytest.raises(TypeError, match="graph communicator"):
            other(cart)
    with pytest.raises(TypeError, match="topology"):
        mpicoll.Topocomm(ours)
    cart.Free()


def test_duplicates_that_nobody_uses_can_be_freed(ours, rank, size):
    for first in range(2):
        parent = ours.Dup()
        child, request = parent.Idup()
        request.Wait()
        for each in (parent, child) if first else (child, parent):
            each.Free()
        again = ours.Dup()
        assert again.allgather(rank) == list(range(size))
        again.Free()


def test_pickling(ours):
    world = mpicoll.Intracomm(MPI.COMM_WORLD)
    copy = pickle.loads(pickle.dumps(world))
    assert copy == world and type(copy) is mpicoll.Intracomm
    with pytest.raises(ValueError, match="cannot serialize"):
        pickle.dumps(ours)
