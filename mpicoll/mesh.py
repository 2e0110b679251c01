"""A device mesh: the process groups of tensor, context, expert, data and pipeline parallelism.

``Mesh(comm, tensor=2, data=2, pipeline=2)`` arranges the ranks of `comm` in a box. A *group* along
some dimensions is the set of ranks whose coordinates differ in those dimensions only; it has a
communicator of its own. Ranks are numbered with the first dimension of the order running fastest.
The default order is Megatron's (Narayanan & al. 2021): tensor groups, which talk in every layer,
are neighbouring ranks, and pipeline stages, which talk least, are farthest apart.

`Layout` is the arithmetic alone and needs no MPI.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from math import prod

__all__ = ["DIMENSIONS", "ORDER", "Layout", "Mesh", "MeshError"]

#: What is divided among the ranks of a group, and what they say to each other because of it.
DIMENSIONS = {
    "tensor": "parts of every weight matrix; activations are summed or gathered in every layer",
    "context": "parts of every sequence; keys and values, or heads, are exchanged in attention",
    "expert": "other experts, other samples; tokens are sent to their experts and back (AllToAll)",
    "data": "other samples, same parameters; gradients are averaged (AllReduce) in every step",
    "pipeline": "consecutive layers; activations are sent forward, gradients backward",
}
#: Groups along several dimensions that mean something of their own.
_TOGETHER = {
    ("tensor", "pipeline"): "one copy of the model",
    ("context", "expert", "data"): "the same dense parameters: their gradients are averaged here",
}
#: Megatron's order, the dimension that varies fastest first.
ORDER = "tensor-context-expert-data-pipeline"


class MeshError(ValueError):
    """Sizes that do not fill the ranks, or a dimension that a mesh does not have."""


class Layout:
    """`P` ranks in a box: sizes by dimension, the coordinates of a rank, the ranks of a group.

    One size may be -1: what is left of `P`. Dimensions that are not named have size 1. `order`
    names dimensions, joined by ``-``, from the one that varies fastest; it may have others than
    those of `DIMENSIONS`, and need not mention those of size 1.
    """

    def __init__(self, P: int, sizes: Mapping[str, int], order: str = ORDER) -> None:
        names = order.split("-")
        if len(set(names)) < len(names) or not all(names):
            raise MeshError(f"order {order!r} names a dimension twice, or one without a name")
        for name, size in sizes.items():
            if name not in names and size != 1:
                raise MeshError(f"no dimension {name!r} in the order {order}")
            if not isinstance(size, int) or (size < 1 and size != -1):
                raise MeshError(f"{name}={size!r}: a size is a positive integer, or -1 once")
        self.P, self.order = P, tuple(names)
        self.sizes = _filled(P, {name: sizes.get(name, 1) for name in names})

    def coordinates(self, rank: int) -> dict[str, int]:
        """Where a rank is along each dimension."""
        if not 0 <= rank < self.P:
            raise MeshError(f"rank {rank} is not one of {self.P} ranks")
        found = {}
        for name in self.order:
            rank, found[name] = divmod(rank, self.sizes[name])
        return found

    def rank(self, **coordinates: int) -> int:
        """The rank at some coordinates, 0 along the dimensions that are not named."""
        self.dimensions(*coordinates)
        rank, stride = 0, 1
        for name in self.order:
            at = coordinates.get(name, 0)
            if not 0 <= at < self.sizes[name]:
                raise MeshError(f"{name}={at}, but {name} has size {self.sizes[name]}")
            rank, stride = rank + at * stride, stride * self.sizes[name]
        return rank

    def dimensions(self, *names: str) -> tuple[str, ...]:
        """The named dimensions in the mesh's order; MeshError for one that it does not have."""
        for name in names:
            if name not in self.order:
                raise MeshError(f"no dimension {name!r}: this mesh has {', '.join(self.order)}")
        return tuple(name for name in self.order if name in names)

    def size(self, *names: str) -> int:
        """The number of ranks of a group along the named dimensions."""
        return prod(self.sizes[name] for name in self.dimensions(*names))

    def group(self, rank: int, *names: str) -> tuple[int, ...]:
        """The ranks of the group of `rank` along the named dimensions, in ascending order."""
        along = self.dimensions(*names)
        here = self.coordinates(rank)
        ranks = [self.rank(**{**here, **dict.fromkeys(along, 0)})]
        for name in along:  # each dimension repeats what there is at its stride
            stride = prod(self.sizes[other] for other in self.order[: self.order.index(name)])
            ranks = [rank + i * stride for i in range(self.sizes[name]) for rank in ranks]
        return tuple(ranks)

    def groups(self, *names: str) -> list[tuple[int, ...]]:
        """All groups along the named dimensions; every rank is in exactly one of them."""
        found = dict.fromkeys(self.group(rank, *names) for rank in range(self.P))
        return list(found)

    def describe(self, rank: int | None = None, node: int | None = None) -> str:
        """Who is in which group, and why, as text.

        With a `rank`, only its groups. With `node`, the number of consecutive ranks on one node,
        groups that leave a node are marked.
        """
        wide = [name for name in self.order if self.sizes[name] > 1]
        title = " x ".join(f"{name} {self.sizes[name]}" for name in wide) or "no parallelism"
        lines = [f"{self.P} ranks: {title} ({self.order[0]} varies fastest)"]
        if rank is not None:
            place = ", ".join(f"{name} {at}" for name, at in self.coordinates(rank).items())
            lines.append(f"rank {rank} is at {place}")
        why = {(name,): DIMENSIONS.get(name, "a dimension of this program") for name in wide}
        for among, reason in _TOGETHER.items():
            names = tuple(name for name in wide if name in among)
            if len(names) > 1:
                why[names] = reason
        for names, reason in why.items():
            groups = self.groups(*names) if rank is None else [self.group(rank, *names)]
            away = node and any(group[0] // node != group[-1] // node for group in groups)
            lines += [
                "",
                f"{' x '.join(names)}: {reason}" + (" [between nodes]" if away else ""),
                "    " + "  ".join("{" + " ".join(map(str, group)) + "}" for group in groups),
            ]
        return "\n".join(lines)


def _filled(P: int, sizes: dict[str, int]) -> dict[str, int]:
    """The sizes with -1 replaced by what is left; MeshError unless they multiply to P."""
    known = prod(size for size in sizes.values() if size != -1)
    unknown = [name for name, size in sizes.items() if size == -1]
    text = " x ".join(f"{name} {size}" for name, size in sizes.items() if size not in (1, -1))
    if len(unknown) > 1:
        raise MeshError(f"only one size may be -1, not {' and '.join(unknown)}")
    if unknown:
        if P % known:
            raise MeshError(f"{text} = {known} does not divide {P} ranks: no {unknown[0]} fits")
        return {**sizes, unknown[0]: P // known}
    if known != P:
        ways = [
            f"{name}={P * size // known}"
            for name, size in sizes.items()
            if (size > 1 or name == "data") and P * size % known == 0
        ]
        hint = f" ({' or '.join(ways)} would fit)" if ways else ""
        raise MeshError(f"{text or 'all sizes 1'} = {known}, but there are {P} ranks{hint}")
    return sizes


class Mesh(Layout):
    """A `Layout` of the ranks of a communicator, with a communicator for every group.

    Making one is collective on `comm`, which may be of MPI or of mpicoll: the groups' communicators
    are of the same kind. All of them are made here, in the same order everywhere, so that ranks may
    ask for them whenever they like. `rank` is the rank in `comm`.

    Raises `MeshError`, on every rank, before anything is communicated.
    """

    def __init__(self, comm, order: str = ORDER, **sizes: int) -> None:
        """Arrange the ranks of `comm`: ``Mesh(comm, tensor=2, data=-1)``."""
        super().__init__(comm.Get_size(), sizes, order)
        self.parent, self.here = comm, comm.Get_rank()
        self.place = self.coordinates(self.here)
        self._comms = {}
        wide = [name for name in self.order if self.sizes[name] > 1]
        for number in range(len(wide) + 1):
            for names in combinations(wide, number):
                members = self.group(self.here, *names)
                self._comms[names] = comm.Split(members[0], members.index(self.here))

    def comm(self, *names: str):
        """The communicator of one's own group along the named dimensions, the mesh's own.

        Its ranks are in the order of `group`. Without names, or along dimensions of size 1, it is
        of this rank alone.
        """
        return self._comms[tuple(n for n in self.dimensions(*names) if self.sizes[n] > 1)]

    def at(self, name: str) -> int:
        """This rank's coordinate along a dimension."""
        return self.place[self.dimensions(name)[0]]

    def first(self, name: str) -> bool:
        """Whether this rank is the first along a dimension: the first stage of a pipeline, say."""
        return self.at(name) == 0

    def last(self, name: str) -> bool:
        """Whether this rank is the last along a dimension."""
        return self.at(name) == self.sizes[name] - 1

    def free(self) -> None:
        """Free all communicators of the mesh; collective."""
        while self._comms:
            self._comms.popitem()[1].Free()
