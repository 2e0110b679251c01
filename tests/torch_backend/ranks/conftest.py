"""Tests of mpicoll.torch on several ranks: one verdict for all of them, as in tests/mpi."""

import pytest
from conftest import comm, pytest_configure, rank, size  # those of tests/mpi
from mpi4py import MPI

__all__ = ["comm", "pytest_configure", "rank", "size"]


@pytest.fixture(scope="session")
def world():
    """The default group."""
    import torch
    import torch.distributed as dist

    import mpicoll.torch  # noqa: F401

    torch.set_num_threads(1)
    dist.init_process_group("mpicoll")
    yield dist.group.WORLD
    dist.destroy_process_group()


@pytest.fixture(scope="session")
def groups(world):
    """Pairs of groups of the same ranks, mpicoll's and gloo's: all ranks, and the outer two.

    None stands for a group that this rank is not in.
    """
    import torch.distributed as dist

    size = MPI.COMM_WORLD.Get_size()
    outer = sorted({0, size - 1})
    pairs = [(world, dist.new_group(backend="gloo"))]
    pairs.append((dist.new_group(outer), dist.new_group(outer, backend="gloo")))
    return [pair if pair[0] != dist.GroupMember.NON_GROUP_MEMBER else None for pair in pairs]
