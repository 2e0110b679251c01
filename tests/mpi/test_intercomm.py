"""Collectives between two groups, against MPI's."""

import numpy as np
import pytest
from mpi4py import MPI

import mpicoll

pytestmark = pytest.mark.mpi(min_size=2)


@pytest.fixture(params=["halves", "one and the rest"])
def pair(request, comm):
    """Our inter-communicator and the plain one, and the side (0 or 1) of this rank."""
    ours = mpicoll.wrap(comm)
    side = ours.rank % 2 if request.param == "halves" else int(ours.rank > 0)
    half = ours.Split(side, ours.rank)
    inter = half.Create_intercomm(0, ours, 1 - side, 3)
    assert type(inter) is mpicoll.Intercomm
    yield inter, MPI.Intercomm(inter), side
    inter.Free()
    half.Free()


def roots(inter, side):
    """Every root of both groups, as this rank has to name it."""
    for rooted_side in (0, 1):
        for root in range(inter.size if side == rooted_side else inter.remote_size):
            if side != rooted_side:
                yield root
            else:
                yield MPI.ROOT if inter.rank == root else MPI.PROC_NULL


def same(inter, native, name, send, receive, *more):
    """Ours, started and persistent, leaves what MPI's leaves."""
    want = receive.copy()
    getattr(native, name)(send, want, *more)
    for form in ("blocking", "started", "persistent"):
        out = receive.copy()
        if form == "blocking":
            getattr(inter, name)(send, out, *more)
        elif form == "started":
            getattr(inter, "I" + name.lower())(send, out, *more).Wait()
        else:
            request = getattr(inter, name + "_init")(send, out, *more)
            request.Start()
            request.Wait()
            request.Free()
        assert np.array_equal(out, want), (name, form)


def test_all_to_all(pair):
    inter, native, _ = pair
    world, remote = MPI.COMM_WORLD.rank, inter.remote_size
    empty = np.full(3 * remote, -1)
    same(inter, native, "Allgather", np.arange(3) + 10 * world, empty)
    same(inter, native, "Alltoall", np.arange(3 * remote) + 100 * world, empty)
    for op in (MPI.SUM, MPI.MAX):
        same(inter, native, "Allreduce", np.arange(4) + world, np.zeros(4, int), op)
    total = 2 * inter.size * remote
    send = np.arange(total) * (world + 1)
    same(inter, native, "Reduce_scatter_block", send, np.zeros(total // inter.size, int))
    counts = [total // inter.size] * inter.size
    same(inter, native, "Reduce_scatter", send, np.zeros(counts[0], int), counts)


def test_rooted(pair):
    inter, native, side = pair
    world, remote = MPI.COMM_WORLD.rank, inter.remote_size
    for root in roots(inter, side):
        buffer = np.arange(3) + 100 * world
        inter.Bcast(buffer, root)
        want = np.arange(3) + 100 * world
        native.Bcast(want, root)
        assert np.array_equal(buffer, want)
        same(inter, native, "Gather", np.arange(2) + 10 * world, np.full(2 * remote, -1), root)
        same(inter, native, "Scatter", np.arange(2 * remote) + world, np.full(2, -1), root)
        same(inter, native, "Reduce", np.arange(5) + world, np.full(5, -1), MPI.SUM, root)


def test_unequal_blocks(pair):
    inter, _, side = pair
    counts = [k % 3 for k in range(inter.remote_size)]
    own = inter.rank % 3
    total = sum(counts)
    want = np.concatenate([np.full(k % 3, 10.0 * k) for k in range(inter.remote_size)])
    out = np.full(total, -1.0)
    inter.Allgatherv(np.full(own, 10.0 * inter.rank), [out, counts])
    assert np.array_equal(out, want)
    for root in roots(inter, side):
        out[:] = -1
        inter.Gatherv(np.full(own, 10.0 * inter.rank), [out, counts], root)
        assert np.array_equal(out, want) if root == MPI.ROOT else (out == -1).all()
        part = np.full(own, -1.0)
        inter.Scatterv([want, counts], part, root)
        assert (part == (10.0 * inter.rank if root >= 0 else -1)).all()


def test_objects(pair):
    inter, native, side = pair
    world, remote = MPI.COMM_WORLD.rank, inter.remote_size
    inter.barrier()
    assert inter.allgather(world) == native.allgather(world)
    items = [(world, k) for k in range(remote)]
    assert inter.alltoall(items) == native.alltoall(items)
    assert inter.allreduce(str(world)) == native.allreduce(str(world))
    for root in roots(inter, side):
        assert inter.bcast([world], root) == native.bcast([world], root)
        assert inter.gather(world, root) == native.gather(world, root)
        assert inter.scatter(items, root) == native.scatter(items, root)
        assert inter.reduce(str(world), MPI.SUM, root) == native.reduce(str(world), MPI.SUM, root)


def test_order_of_operands(pair):
    """Operations that do not commute combine the other group in its rank order."""
    inter, _, _ = pair

    def compose(a, b, _):
        left, right = np.frombuffer(a, "i8").reshape(-1, 2), np.frombuffer(b, "i8").reshape(-1, 2)
        right[:, 1] = (left[:, 1] * right[:, 0] + right[:, 1]) % 10007
        right[:, 0] = left[:, 0] * right[:, 0] % 10007

    def maps(rank):
        return np.array([[rank + 2, 3 * rank + 1], [rank + 5, 7]])

    op = MPI.Op.Create(compose, commute=False)
    pair_type = MPI.INT64_T.Create_contiguous(2).Commit()
    want = maps(0)
    for rank in range(1, inter.remote_size):
        right = maps(rank)
        compose(want.copy(), right, None)
        want = right
    out = np.zeros((2, 2), "i8")
    inter.Allreduce([maps(inter.rank), 2, pair_type], [out, 2, pair_type], op)
    assert np.array_equal(out, want)
    pair_type.Free()
    op.Free()


def test_numbers_beyond_mpi(pair):
    """Half precision and averages between groups, nothing written beyond the buffers."""
    inter, _, side = pair
    remote = inter.remote_size
    values = [np.full(3, k + 0.5, "f2") for k in range(max(remote, inter.size))]
    total = sum(value.astype("f4") for value in values[:remote]).astype("f2")
    mean = (total.astype("f4") / remote).astype("f2")
    for op, want in ((MPI.SUM, total), (mpicoll.AVG, mean)):
        whole = np.full(9, -1, "f2")
        inter.Allreduce(values[inter.rank], whole[3:6], op)
        assert np.allclose(whole[3:6], want, rtol=1e-3)
        assert (whole[:3] == -1).all() and (whole[6:] == -1).all()
        whole[:] = -1
        inter.Reduce_scatter_block(
            np.tile(values[inter.rank], inter.size * remote), out := np.zeros(3 * remote, "f2"), op
        )
        assert np.allclose(out, np.tile(want, remote), rtol=1e-3)
        for root in roots(inter, side):
            inter.Reduce(values[inter.rank], whole[3:6], op, root)
            wanted = want if root == MPI.ROOT else np.full(3, -1)
            assert np.allclose(whole[3:6], wanted, rtol=1e-3)
            assert (whole[:3] == -1).all() and (whole[6:] == -1).all()
            whole[:] = -1
    double = np.zeros(2)
    inter.Allreduce(np.full(2, inter.rank + 1.0), double, op=mpicoll.AVG)
    assert np.allclose(double, (remote + 1) / 2)


def test_errors_and_merge(pair):
    inter, _, _ = pair
    with pytest.raises(TypeError, match=r"MPI\.Op"):
        inter.Allreduce(np.zeros(1), np.zeros(1), op=max)
    with pytest.raises(mpicoll.ArgumentError, match="root"):
        inter.Bcast(np.zeros(1), root=inter.remote_size)
    with pytest.raises(mpicoll.ArgumentError):
        inter.Allgather(MPI.IN_PLACE, np.zeros(inter.remote_size))
    merged = inter.Merge()
    assert type(merged) is mpicoll.Intracomm
    assert merged.allreduce(1) == inter.size + inter.remote_size
    merged.Free()
    inter.Barrier()
