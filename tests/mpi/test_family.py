"""Communicators that come from ours: their kind, their collectives, their end."""

import numpy as np
import pytest
from mpi4py import MPI

import mpicoll


@pytest.fixture
def ours(comm):
    return mpicoll.wrap(comm)


def works(comm):
    receive = np.zeros(2)
    comm.Allreduce(np.array([1.0, comm.rank]), receive)
    assert receive.tolist() == [comm.size, sum(range(comm.size))]


def test_what_comes_from_ours_is_ours(ours):
    size = ours.size
    ring = [(ours.rank + 1) % size]
    made = {
        "Dup": ours.Dup(),
        "Dup_with_info": ours.Dup_with_info(MPI.INFO_NULL),
        "Clone": ours.Clone(),
        "Split": ours.Split(ours.rank % 2, -ours.rank),
        "Split_type": ours.Split_type(MPI.COMM_TYPE_SHARED),
        "Create": ours.Create(ours.Get_group()),
        "Create_group": ours.Create_group(ours.Get_group()),
        "Create_cart": ours.Create_cart([size], periods=[True]),
        "Create_graph": ours.Create_graph(
            list(range(1, size + 1)), [(k + 1) % size for k in range(size)]
        ),
        "Create_dist_graph_adjacent": ours.Create_dist_graph_adjacent(ring, ring),
        "Create_dist_graph": ours.Create_dist_graph([ours.rank], [1], ring),
    }
    kinds = {
        "Create_cart": mpicoll.Cartcomm,
        "Create_graph": mpicoll.Graphcomm,
        "Create_dist_graph_adjacent": mpicoll.Distgraphcomm,
        "Create_dist_graph": mpicoll.Distgraphcomm,
    }
    for name, comm in made.items():
        assert type(comm) is kinds.get(name, mpicoll.Intracomm), name
        works(comm)
    sub = made["Create_cart"].Sub([True])
    assert type(sub) is mpicoll.Cartcomm
    works(sub)
    sub.Free()
    for comm in made.values():
        comm.Free()
        assert comm == MPI.COMM_NULL


def test_idup_is_ready_when_its_request_is(ours):
    comm, request = ours.Idup()
    ours.Barrier()
    request.Wait()
    assert type(comm) is mpicoll.Intracomm
    works(comm)
    comm.Free()


def test_split_with_undefined_colour(ours):
    comm = ours.Split(MPI.UNDEFINED if ours.rank == 0 else 0)
    assert (comm == MPI.COMM_NULL) == (ours.rank == 0)
    if ours.rank:
        works(comm)
        comm.Free()


def test_a_subclass_stays_one(comm):
    class Mine(mpicoll.Intracomm):
        pass

    mine = Mine(comm)
    copy = mine.Dup()
    assert type(copy) is Mine
    works(copy)
    copy.Free()


def test_making_and_freeing_leaves_nothing(ours):
    """MPI allows about 2,000 communicators at a time; each of ours has a private one."""
    if ours.size > 4:
        pytest.skip("slow on few cores")
    send, receive = np.ones(1), np.zeros(1)
    for k in range(1500):
        comm = ours.Dup()
        if k % 100 == 0:
            comm.Allreduce(send, receive)
            assert receive[0] == ours.size
        comm.Free()


def test_freeing_the_plain_communicator_frees_the_private_one(ours):
    if ours.size > 4:
        pytest.skip("slow on few cores")
    for _ in range(1100):
        plain = MPI.Intracomm(ours.state.channel).Dup()
        mpicoll.wrap(plain)
        plain.Free()


def test_two_wrappers_of_one_communicator_are_in_step(comm):
    first, second = mpicoll.wrap(comm), mpicoll.Intracomm(comm)
    for _ in range(3):
        works(first)
        works(second)
    assert first.state is second.state


@pytest.mark.parametrize("periodic", [True, False])
def test_neighbours_in_a_grid(ours, periodic):
    cart = ours.Create_cart(MPI.Compute_dims(ours.size, 2), periods=[periodic] * 2)
    native = MPI.Cartcomm(cart)
    degree = 4
    for count in (0, 1, 3):
        send = np.arange(degree * count) + 100 * ours.rank
        out, want = np.full(degree * count, -1), np.full(degree * count, -1)
        native.Neighbor_alltoall(send, want)
        cart.Neighbor_alltoall(send, out)
        assert np.array_equal(out, want)
        out[:] = -1
        cart.Ineighbor_alltoall(send, out).Wait()
        assert np.array_equal(out, want)
        counts = [count] * degree
        out[:] = -1
        cart.Neighbor_alltoallv([send, counts], [out, counts])
        assert np.array_equal(out, want)
        places = (counts, [8 * count * k for k in range(degree)])
        out[:] = -1
        cart.Neighbor_alltoallw(
            [send, places, [MPI.INT64_T] * degree], [out, places, [MPI.INT64_T] * degree]
        )
        assert np.array_equal(out, want)
        native.Neighbor_allgather(send[:count], want)
        out[:] = -1
        request = cart.Neighbor_allgather_init(send[:count], out)
        request.Start()
        request.Wait()
        request.Free()
        if count:
            assert np.array_equal(out[want != -1], want[want != -1])
            assert (cart.neighbor_allgather("x").count(None)) == cart.inedges.count(MPI.PROC_NULL)
    items = [(ours.rank, k) for k in range(degree)]
    assert cart.neighbor_alltoall(items) == native.neighbor_alltoall(items)
    assert cart.neighbor_allgather(ours.rank) == native.neighbor_allgather(ours.rank)
    cart.Free()


def test_neighbours_with_self_loops_and_double_edges(ours):
    rank, size = ours.rank, ours.size
    before, after = (rank - 1) % size, (rank + 1) % size
    graph = ours.Create_dist_graph_adjacent([rank, before, before], [rank, after, after])
    native = MPI.Distgraphcomm(graph)
    send = np.arange(6) + 10 * rank
    out, want = np.full(6, -1), np.full(6, -1)
    graph.Neighbor_alltoall(send, out)
    native.Neighbor_alltoall(send, want)
    assert np.array_equal(out, want)
    counts = [1, 2, 3]
    graph.Neighbor_alltoallv([send, counts], [out, counts])
    assert out.tolist() == [10 * rank, *(10 * before + k for k in range(1, 6))]
    assert graph.neighbor_alltoall("abc") == ["a", "b", "c"]
    graph.Free()


def test_errors_name_what_is_wrong(ours):
    with pytest.raises(TypeError):
        mpicoll.wrap("comm")
    with pytest.raises(ValueError):
        mpicoll.wrap(MPI.COMM_NULL)
    cart = ours.Create_cart([ours.size], periods=[True])
    with pytest.raises(ValueError, match="linear"):
        cart.Neighbor_allgather(np.zeros(1), np.zeros(2), algorithm="ring")
    with pytest.raises(mpicoll.ArgumentError):
        cart.Neighbor_allgather(MPI.IN_PLACE, np.zeros(2))
    cart.Free()
