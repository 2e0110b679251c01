"""A mesh's communicators have the ranks that its layout says, and are of the parent's kind."""

import numpy as np
import pytest
from mpi4py import MPI

import mpicoll
from mpicoll.mesh import Mesh, MeshError


def shape(size):
    tensor = next(n for n in (2, 3, 5, 1) if size % n == 0)
    return {"tensor": tensor, "pipeline": -1, "data": 2 if size // tensor % 2 == 0 else 1}


@pytest.mark.parametrize("kind", [MPI.Intracomm, mpicoll.Intracomm])
def test_every_combination_has_its_communicator(comm, size, rank, kind):
    mesh = Mesh(kind(comm), **shape(size))
    for names in ((), ("tensor",), ("data",), ("pipeline", "tensor"), ("tensor", "data", "expert")):
        group = mesh.comm(*names)
        assert type(group) is kind
        members = np.zeros(group.Get_size(), int)
        group.Allgather(np.array([rank]), members)
        assert tuple(members) == mesh.group(rank, *names)
    assert mesh.comm("tensor", "pipeline") is mesh.comm("pipeline", "tensor")
    assert mesh.rank(**{name: mesh.at(name) for name in mesh.order}) == rank
    assert mesh.first("pipeline") == (mesh.at("pipeline") == 0)
    mesh.free()


def test_wrong_sizes_are_refused_before_anything_is_sent(ours, size):
    with pytest.raises(MeshError, match="ranks"):
        Mesh(ours, tensor=size + 1)
    with pytest.raises(MeshError):
        Mesh(ours, tensor=size).comm("tensro")
