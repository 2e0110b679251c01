"""Counts and displacements beyond 2**31: run by hand, with about 12 GiB free for two ranks."""

import numpy as np
import pytest
from mpi4py import MPI

import mpicoll

LARGE = (1 << 31) + 5


@pytest.fixture
def ours(comm):
    if comm.size > 2:
        pytest.skip("two ranks need 12 GiB already")
    return mpicoll.wrap(comm)


@pytest.mark.big
@pytest.mark.parametrize("algorithm", [None, "linear", "scatter_allgather"])
def test_bcast(ours, algorithm):
    buffer = np.full(LARGE, ours.rank + 1, "u1")
    if ours.rank == ours.size - 1:
        buffer[-1], buffer[1 << 30] = 77, 78
    ours.Bcast(buffer, root=ours.size - 1, algorithm=algorithm)
    assert buffer[0] == ours.size and buffer[-2] == ours.size
    assert buffer[-1] == 77 and buffer[1 << 30] == 78


@pytest.mark.big
def test_allreduce(ours):
    buffer = np.full(LARGE, ours.rank + 1, "u1")
    ours.Allreduce(MPI.IN_PLACE, buffer)
    total = ours.size * (ours.size + 1) // 2
    assert buffer[0] == buffer[-1] == buffer[1 << 31] == total


@pytest.mark.big
def test_displacements(ours):
    """Small blocks, the last one beyond 2**31 elements from the first."""
    box = np.zeros(LARGE, "u1")
    displs = [0, LARGE - 3][: ours.size]
    ours.Allgatherv(np.full(3, ours.rank + 1, "u1"), [box, [3] * ours.size, displs, MPI.UINT8_T])
    assert (box[:3] == 1).all() and (ours.size == 1 or (box[-3:] == 2).all())
    assert box[3] == box[-4] == 0
