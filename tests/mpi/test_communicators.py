"""Communicators: every kind wraps, ranks are those of the communicator, and nothing native runs."""

import re

import numpy as np
import pytest
from mpi4py import MPI
from support import raised

import mpicoll
from mpicoll.execution.state import NATIVE_COLLECTIVES, NativeCollectiveError


def check_ranks(comm, world_ranks):
    """Collectives number ranks as the communicator does."""
    ours = mpicoll.wrap(comm)
    me = MPI.COMM_WORLD.Get_rank()
    r, p = ours.Get_rank(), ours.Get_size()
    assert p == len(world_ranks) and world_ranks[r] == me
    ours.Allgather(np.array([me]), every := np.zeros(p, "i8"))
    assert every.tolist() == world_ranks
    for root in range(p):
        b = np.array([me])
        ours.Bcast(b, root)
        assert b[0] == world_ranks[root]
    ours.Alltoall(100 * me + np.arange(p), t := np.zeros(p, "i8"))
    assert t.tolist() == [100 * w + r for w in world_ranks]
    ours.Scan(np.array([float(me)]), s := np.zeros(1))
    assert s[0] == sum(world_ranks[: r + 1])


def test_split_keys_renumber_the_ranks(comm, rank, size):
    half = comm.Split(0, -rank)
    check_ranks(half, list(range(size))[::-1])
    half.Free()
    colour, key = rank % 2, (rank * 7) % 5  # ties keep the order of the old ranks
    part = comm.Split(colour, key)
    members = [r for r in range(size) if r % 2 == colour]
    check_ranks(part, sorted(members, key=lambda r: ((r * 7) % 5, r)))
    part.Free()


def test_groups_and_grids(comm, rank, size):
    chosen = list(range(size))[::-1][: max(1, size - 1)]
    group = comm.Get_group().Incl(chosen)
    part = comm.Create(group)
    if part != MPI.COMM_NULL:
        check_ranks(part, chosen)
        part.Free()
    if rank in chosen:
        part = comm.Create_group(group)
        check_ranks(part, chosen)
        part.Free()
    dims = MPI.Compute_dims(size, 2)
    grid = comm.Create_cart(dims, periods=[True, False], reorder=False)
    check_ranks(grid, list(range(size)))
    for axis in (0, 1):
        line = grid.Sub([axis == 0, axis == 1])
        at = list(grid.coords)
        members = []
        for place in range(dims[axis]):
            at[axis] = place
            members.append(grid.Get_cart_rank(at))
        check_ranks(line, members)
        line.Free()
    grid.Free()
    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    check_ranks(node, list(range(size)))
    node.Free()


def test_several_communicators_at_once(comm, ours, rank, size):
    """Ranks may be in different collectives of different communicators at the same time."""
    others = [mpicoll.wrap(comm.Split(rank % k, rank)) for k in (1, 2, 3)]
    for turn in range(3):
        for k, other in enumerate(others, start=1):
            other.Allreduce(np.array([rank + turn]), y := np.zeros(1, "i8"))
            assert y[0] == sum(r + turn for r in range(size) if r % k == rank % k)
        ours.Bcast(b := np.array([rank]), turn % size)
        assert b[0] == turn % size
    for other in others:
        other.Free()


def test_wrap_gives_the_matching_class(comm, rank, size):
    neighbours = sorted({(rank - 1) % size, (rank + 1) % size})
    edges = [sorted({(r - 1) % size, (r + 1) % size}) for r in range(size)]
    index = np.cumsum([len(e) for e in edges]).tolist()
    made = {
        mpicoll.Intracomm: comm.Dup(),
        mpicoll.Cartcomm: comm.Create_cart([size]),
        mpicoll.Graphcomm: comm.Create_graph(index, [r for e in edges for r in e]),
        mpicoll.Distgraphcomm: comm.Create_dist_graph_adjacent(neighbours, neighbours),
    }
    for kind, native in made.items():
        ours = mpicoll.wrap(native)
        assert type(ours) is kind and isinstance(ours, type(native))
        assert ours.Get_topology() == native.Get_topology()
        # Wrapping again, or what is wrapped, shares everything.
        again = mpicoll.wrap(ours)
        assert type(again) is kind and again.state is ours.state
        for turn, one in enumerate((ours, again, ours)):
            one.Allreduce(np.array([turn]), y := np.zeros(1, "i8"))
            assert y[0] == turn * size
        native.Free()


def test_a_duplicate_is_ours_and_has_messages_of_its_own(ours, rank, size):
    twin = ours.Dup()
    assert type(twin) is mpicoll.Intracomm and twin.state is not ours.state
    ours.Bcast(a := np.array([rank]), 0)
    twin.Bcast(b := np.array([rank]), size - 1)
    assert (a[0], b[0]) == (0, size - 1)
    twin.Free()
    ours.Allreduce(a, b)
    assert b[0] == 0


def test_what_cannot_be_wrapped(comm):
    assert isinstance(raised(mpicoll.wrap, MPI.COMM_NULL), ValueError)
    assert isinstance(raised(mpicoll.wrap, 3), TypeError)
    assert isinstance(raised(mpicoll.wrap, None), TypeError)
    nobody = mpicoll.Intracomm(MPI.COMM_NULL)
    assert nobody == MPI.COMM_NULL
    assert raised(nobody.Allreduce, np.ones(1), np.ones(1)) is not None
    assert raised(nobody.Barrier) is not None


BLOCKING = (
    "Barrier Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv "
    "Alltoallw Reduce Allreduce Reduce_scatter Reduce_scatter_block Scan Exscan"
).split()


def collectives_of(cls):
    """The upper-case collective methods that mpi4py documents as such, of all forms."""
    stems = "|".join(sorted(BLOCKING, key=len, reverse=True))
    pattern = re.compile(rf"(I?({stems})|({stems})_init)", re.I)
    return {name for name in dir(cls) if name[0].isupper() and pattern.fullmatch(name)}


def test_every_blocking_collective_is_ours():
    assert set(BLOCKING) <= collectives_of(MPI.Intracomm)
    for kind in (
        mpicoll.Intracomm,
        mpicoll.Cartcomm,
        mpicoll.Graphcomm,
        mpicoll.Distgraphcomm,
    ):
        for name in BLOCKING:
            owner = next(base for base in kind.__mro__ if name in vars(base))
            assert owner.__module__.startswith("mpicoll."), f"{kind.__name__}.{name} is native"


def test_the_private_communicator_has_no_collectives(ours, rank, size):
    channel = ours.state.channel
    named = collectives_of(MPI.Intracomm)
    assert named <= NATIVE_COLLECTIVES
    for name in sorted(NATIVE_COLLECTIVES):
        assert hasattr(MPI.Intracomm, name) or name.startswith(("Neighbor", "neighbor", "I"))
        assert isinstance(raised(getattr(channel, name)), NativeCollectiveError), name


def test_no_collective_of_mpi_is_called(ours, rank, size):
    """All messages are point-to-point on the private communicator, which is made to refuse more.

    The user's own communicator must not communicate at all: here it cannot.
    """

    class Mute(mpicoll.Intracomm):
        """Refuses messages, and counts what it is asked for."""

    for name in dir(MPI.Comm):
        if re.match(r"[Ii]?([BbRrSs]?send|[Mm]?recv|[Mm]?probe|sendrecv)", name, re.I):
            setattr(Mute, name, lambda self, *a, name=name, **k: pytest.fail(f"{name} was called"))
    comm = Mute(ours)
    sent = []
    channel = comm.state.channel

    class Counting(type(channel)):
        def Send(self, *arguments):
            sent.append("Send")
            return super().Send(*arguments)

        def Isend(self, *arguments):
            sent.append("Isend")
            return super().Isend(*arguments)

        def Sendrecv(self, *arguments):
            sent.append("Sendrecv")
            return super().Sendrecv(*arguments)

    x, y, wide = np.arange(2.0) + rank, np.zeros(2), np.zeros((size, 2))
    counts, places = [2] * size, ([2] * size, [16 * r for r in range(size)])
    types = [MPI.DOUBLE] * size
    calls = {
        "Barrier": lambda: comm.Barrier(),
        "Bcast": lambda: comm.Bcast(x, 0),
        "Gather": lambda: comm.Gather(x, wide if rank == 0 else None),
        "Gatherv": lambda: comm.Gatherv(x, [wide, counts] if rank == 0 else None),
        "Scatter": lambda: comm.Scatter(wide if rank == 0 else None, y),
        "Scatterv": lambda: comm.Scatterv([wide, counts] if rank == 0 else None, y),
        "Allgather": lambda: comm.Allgather(x, wide),
        "Allgatherv": lambda: comm.Allgatherv(x, [wide, counts]),
        "Alltoall": lambda: comm.Alltoall(wide.copy(), wide),
        "Alltoallv": lambda: comm.Alltoallv([wide.copy(), counts], [wide, counts]),
        "Alltoallw": lambda: comm.Alltoallw([wide.copy(), places, types], [wide, places, types]),
        "Reduce": lambda: comm.Reduce(x, y if rank == 0 else None),
        "Allreduce": lambda: comm.Allreduce(x, y),
        "Reduce_scatter_block": lambda: comm.Reduce_scatter_block(wide, y),
        "Reduce_scatter": lambda: comm.Reduce_scatter(wide, y, counts),
        "Scan": lambda: comm.Scan(x, y),
        "Exscan": lambda: comm.Exscan(x, y),
    }
    assert sorted(calls) == sorted(BLOCKING)
    comm.state.channel = Counting(channel)
    try:
        for name, call in calls.items():
            sent.clear()
            call()
            # In each of them rank 0 sends or receives; the middle of all ranks always sends.
            if size > 1 and name in ("Barrier", "Allreduce", "Allgather", "Alltoall", "Alltoallv"):
                assert sent, f"{name}: nothing was sent point-to-point"
    finally:
        comm.state.channel = channel


def test_freeing_a_communicator_frees_what_belongs_to_it(comm, rank):
    for _ in range(50):
        ours = mpicoll.wrap(comm.Dup())
        ours.Allreduce(np.array([rank]), np.zeros(1, "i8"))
        channel = ours.state.channel
        ours.Free()
        assert ours == MPI.COMM_NULL and channel == MPI.COMM_NULL


@pytest.mark.parametrize("reorder", (False, True))
def test_topologies_keep_their_methods(comm, rank, size, reorder):
    grid = mpicoll.wrap(comm.Create_cart([size], periods=[True], reorder=reorder))
    left, right = grid.Shift(0, 1)
    r = grid.Get_rank()
    assert (left, right) == ((r - 1) % size, (r + 1) % size)
    got = np.zeros(1, "i8")
    grid.Sendrecv(np.array([r]), right, 0, got, left, 0)
    assert got[0] == left
    grid.Allreduce(np.array([r]), total := np.zeros(1, "i8"))
    assert total[0] == size * (size - 1) // 2
    grid.Free()
