"""The plans of collectives between two groups, on the ranks of both merged.

`Sides` gives the merged ranks of the own group and of the other one. Plans are made of the phases
of the intra-communicator algorithms, carried out among the ranks that matter; they are not in the
registry, whose statements are about one group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from mpi4py import MPI

from mpicoll.algorithms.phases import binomial_bcast, binomial_reduce
from mpicoll.errors import fail
from mpicoll.steps import Buffer, Copy, Input, Nothing, Output, Recv, Round, Send, Step, Temp
from mpicoll.topology import distances

__all__ = [
    "Sides",
    "allreduce_rounds",
    "barrier_rounds",
    "bcast_rounds",
    "everybody",
    "reduce_rounds",
    "reduce_scatter_rounds",
    "root_of",
    "rooted_rounds",
]


class Sides(NamedTuple):
    """Merged ranks of the own group and of the other, and this rank's number in its own group."""

    local: tuple[int, ...]
    remote: tuple[int, ...]
    rank: int


def among(ranks: Sequence[int], rounds: Iterable[Round | Step]) -> Iterator[Round]:
    """The same rounds with peer i replaced by ``ranks[i]``."""
    for steps in rounds:
        steps = steps if type(steps) is tuple else (steps,)
        yield tuple(
            step._replace(peer=ranks[step.peer]) if isinstance(step, (Send, Recv)) else step
            for step in steps
        )


def root_of(root: object, sides: Sides) -> int | None:
    """The root's merged rank if it is in the other group, this rank's own if it is the root, None
    if this rank only looks on.
    """
    if root == MPI.ROOT:
        return sides.local[sides.rank]
    if root == MPI.PROC_NULL:
        return None
    if not hasattr(root, "__index__"):
        raise TypeError(f"root must be an integer, not {type(root).__name__}")
    if not 0 <= root.__index__() < len(sides.remote):
        raise fail(
            MPI.ERR_ROOT,
            f"root must be MPI.ROOT, MPI.PROC_NULL or in 0..{len(sides.remote) - 1}, not {root}",
        )
    return sides.remote[root]


def bcast_rounds(sides: Sides, top: int, sending: bool) -> Iterator[Round]:
    """The root and the other group form a binomial tree."""
    ranks = (top, *(sides.remote if sending else sides.local))
    place = 0 if sending else sides.rank + 1
    return among(ranks, binomial_bcast(place, len(ranks), 0, Output[:]))


def rooted_rounds(sides: Sides, top: int, is_root: bool, sends: bool) -> list[Round]:
    """Scatter (`sends`: the root sends) and gather: a message between root and each remote rank."""
    if not is_root:
        return [(Recv(top, Output[0]),) if sends else (Send(top, Input[0]),)]
    if sends:
        return [tuple(Send(peer, Input[i]) for i, peer in enumerate(sides.remote))]
    return [tuple(Recv(peer, Output[i]) for i, peer in enumerate(sides.remote))]


def everybody(sides: Sides, same: bool) -> Round:
    """One round of messages to and from the other group, each rank starting with another one."""
    count = len(sides.remote)
    order = [(sides.rank + i) % count for i in range(count)]
    receives = (Recv(sides.remote[i], Output[i]) for i in order)
    return (*receives, *(Send(sides.remote[i], Input[0 if same else i]) for i in order))


def _combined(sides: Sides, into: Buffer) -> Iterator[Round]:
    """The own group's Input, combined in rank order, in scratch `into` of its rank 0."""
    group = binomial_reduce(sides.rank, len(sides.local), 0, Input, into)
    return among(sides.local, group)


def reduce_rounds(sides: Sides, top: int, is_root: bool) -> list[Round | Step]:
    """The other group combines at its rank 0, which sends the result to the root."""
    if is_root:
        return [Recv(sides.remote[0], Output[0])]
    rounds = list(_combined(sides, Temp))
    return [*rounds, Send(top, Temp[:])] if sides.rank == 0 else rounds


def allreduce_rounds(sides: Sides) -> list[Round]:
    """Both groups combine at their rank 0; these two swap results and broadcast them."""
    rounds = list(_combined(sides, Temp))
    if sides.rank == 0:
        leader = sides.remote[0]
        rounds.append((Send(leader, Temp[:]), Recv(leader, Output[:])))
    members = len(sides.local)
    rounds += among(sides.local, binomial_bcast(sides.rank, members, 0, Output[:]))
    return rounds


def reduce_scatter_rounds(sides: Sides) -> list[Round | Step]:
    """Both groups combine at their rank 0; these two swap results and deal them out."""
    rounds: list[Round | Step] = list(_combined(sides, Temp))
    if sides.rank:
        return [*rounds, Recv(sides.local[0], Output[0])]
    leader, arrived = sides.remote[0], Temp.row(2)
    sends = (Send(peer, arrived[i]) for i, peer in enumerate(sides.local) if i)
    return [
        *rounds,
        (Send(leader, Temp[:]), Recv(leader, arrived[:])),
        (*sends, Copy(arrived[0], Output[0])),
    ]


def barrier_rounds(sides: Sides) -> list[Round]:
    """Everybody of both groups waits for everybody: dissemination over the merged ranks."""
    me, everybody = sides.local[sides.rank], len(sides.local) + len(sides.remote)
    return [
        (Send((me + d) % everybody, Nothing), Recv((me - d) % everybody, Nothing))
        for d in distances(everybody)
    ]
