"""Collectives on inter-communicators: data goes from one group to the other.

Both groups are merged into one private communicator, whose ranks the plans use. `Sides` gives the
merged ranks of the own group and of the other one. Plans are made of the phases of the
intra-communicator algorithms, carried out among the ranks that matter; they are not in the
registry, whose statements are about one group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from mpi4py import MPI

from mpicoll.algorithms.phases import binomial_bcast, binomial_reduce
from mpicoll.errors import fail
from mpicoll.execution.calls import (
    Call,
    Place,
    cache_key,
    exchanged,
    keep_alive,
    refuse_in_place,
    refuse_overlap,
    row,
    whole,
)
from mpicoll.execution.layout import Part, listed
from mpicoll.execution.message import Message, Vector, read_message, read_vector
from mpicoll.execution.reduction import Reduction, reduction_of
from mpicoll.registry import plan_from
from mpicoll.steps import Buffer, Copy, Input, Nothing, Output, Recv, Round, Send, Step, Temp
from mpicoll.topology import distances

__all__ = ["Sides"]


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


def _call(
    name: str,
    sides: Sides,
    rounds: Iterable[Round | Step],
    sent: Sequence[Part] = (),
    received: Sequence[Part] = (),
    read: Sequence[Message | Vector | Reduction | int | None] = (),
    scratch: Sequence[Part] = (),
    reduction: Reduction | None = None,
) -> Call:
    blocks = max(len(sent), len(received), len(scratch), 1)
    refuse_overlap(list(sent), list(received))
    place = Place(sent, received, lambda block: (scratch[block][1], scratch[block][2]), [], [])
    return Call(
        name,
        sides.local[sides.rank],
        len(sides.local) + len(sides.remote),
        lambda blocks, keep: place,
        keep_alive(*(item for item in read if isinstance(item, (Message, Vector)))),
        cache_key(*read),
        reduction=reduction,
        fixed=(plan_from(rounds, blocks), blocks),
    )


def barrier(rank: int, size: int, sides: Sides) -> Call:
    """Everybody of both groups waits for everybody: dissemination over the merged ranks."""
    me, everybody = sides.local[sides.rank], len(sides.local) + len(sides.remote)
    rounds = (
        (Send((me + d) % everybody, Nothing), Recv((me - d) % everybody, Nothing))
        for d in distances(everybody)
    )
    return _call("barrier", sides, rounds)


def bcast_rounds(sides: Sides, top: int, sending: bool) -> Iterator[Round]:
    """The root and the other group form a binomial tree."""
    ranks = (top, *(sides.remote if sending else sides.local))
    place = 0 if sending else sides.rank + 1
    return among(ranks, binomial_bcast(place, len(ranks), 0, Output[:]))


def bcast(rank: int, size: int, sides: Sides, buf: object, root: object) -> Call:
    """The root and the other group form a binomial tree."""
    top = root_of(root, sides)
    if top is None:
        return _call("bcast", sides, ())
    sending = root == MPI.ROOT
    message = read_message(buf, writable=not sending)
    rounds = bcast_rounds(sides, top, sending)
    return _call("bcast", sides, rounds, (), [whole(message)], [message, sending, top])


def rooted_rounds(sides: Sides, top: int, is_root: bool, sends: bool) -> list[Round]:
    """Scatter (`sends`: the root sends) and gather: a message between root and each remote rank."""
    if not is_root:
        return [(Recv(top, Output[0]),) if sends else (Send(top, Input[0]),)]
    if sends:
        return [tuple(Send(peer, Input[i]) for i, peer in enumerate(sides.remote))]
    return [tuple(Recv(peer, Output[i]) for i, peer in enumerate(sides.remote))]


def _rooted(name: str, sides: Sides, root: object, buffers: dict, v: bool, sends: bool) -> Call:
    """Scatter (`sends`: the root sends) and gather: the root has a message for each remote rank."""
    top = root_of(root, sides)
    if top is None:
        return _call(name, sides, ())
    if root == MPI.ROOT:
        blocks = len(sides.remote)
        given = buffers["sendbuf" if sends else "recvbuf"]
        read = read_vector if v else read_message
        message = read(given, writable=not sends, blocks=blocks)
        parts = listed(message) if v else row(message, blocks)
    else:
        message = read_message(buffers["recvbuf" if sends else "sendbuf"], writable=sends)
        parts = [whole(message)]
    sent, received = (parts, ()) if sends == (root == MPI.ROOT) else ((), parts)
    rounds = rooted_rounds(sides, top, root == MPI.ROOT, sends)
    return _call(name, sides, rounds, sent, received, [message, top, v])


def scatter(
    rank: int, size: int, sides: Sides, sendbuf: object, recvbuf: object, root: object, v: bool
) -> Call:
    """The root sends each rank of the other group its block."""
    return _rooted("scatter", sides, root, {"sendbuf": sendbuf, "recvbuf": recvbuf}, v, True)


def gather(
    rank: int, size: int, sides: Sides, sendbuf: object, recvbuf: object, root: object, v: bool
) -> Call:
    """Each rank of the other group sends the root its block."""
    return _rooted("gather", sides, root, {"sendbuf": sendbuf, "recvbuf": recvbuf}, v, False)


def everybody(sides: Sides, same: bool) -> Round:
    """One round of messages to and from the other group, each rank starting with another one."""
    count = len(sides.remote)
    order = [(sides.rank + i) % count for i in range(count)]
    receives = (Recv(sides.remote[i], Output[i]) for i in order)
    return (*receives, *(Send(sides.remote[i], Input[0 if same else i]) for i in order))


def allgather(
    rank: int, size: int, sides: Sides, sendbuf: object, recvbuf: object, v: bool
) -> Call:
    """Everybody gets the blocks of the other group."""
    refuse_in_place(sendbuf, "used on an inter-communicator")
    blocks = len(sides.remote)
    read = read_vector if v else read_message
    receive = read(recvbuf, writable=True, blocks=blocks)
    received = listed(receive) if v else row(receive, blocks)
    send = read_message(sendbuf, writable=False)
    rounds = [everybody(sides, same=True)]
    return _call("allgather", sides, rounds, [whole(send)], received, [send, receive])


def alltoall(
    rank: int, size: int, sides: Sides, sendbuf: object, recvbuf: object, form: str
) -> Call:
    """Everybody exchanges blocks with everybody of the other group."""
    refuse_in_place(sendbuf, "used on an inter-communicator")
    blocks = len(sides.remote)
    receive, received = exchanged(recvbuf, blocks, form, writable=True)
    send, sent = exchanged(sendbuf, blocks, form, writable=False)
    parts = (list(sent.values()), list(received.values()))
    return _call("alltoall", sides, [everybody(sides, same=False)], *parts, [send, receive])


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


def reduce(
    rank: int, size: int, sides: Sides, sendbuf: object, recvbuf: object, op: object, root: object
) -> Call:
    """The other group's vectors are combined by its rank 0, which sends the result to the root."""
    top = root_of(root, sides)
    if top is None:
        return _call("reduce", sides, ())
    if root == MPI.ROOT:
        message = read_message(recvbuf, writable=True)
        rounds = reduce_rounds(sides, top, True)
        reduction_of(op, message.kind)
        return _call("reduce", sides, rounds, (), [whole(message)], [message, top])
    message = read_message(sendbuf, writable=False)
    reduction = reduction_of(op, message.kind)
    rounds = reduce_rounds(sides, top, False)
    part = [whole(message)]
    return _call("reduce", sides, rounds, part, (), [message, reduction, top], part, reduction)


def allreduce_rounds(sides: Sides) -> list[Round]:
    """Both groups combine at their rank 0; these two swap results and broadcast them."""
    rounds = list(_combined(sides, Temp))
    if sides.rank == 0:
        leader = sides.remote[0]
        rounds.append((Send(leader, Temp[:]), Recv(leader, Output[:])))
    members = len(sides.local)
    rounds += among(sides.local, binomial_bcast(sides.rank, members, 0, Output[:]))
    return rounds


def allreduce(
    rank: int, size: int, sides: Sides, sendbuf: object, recvbuf: object, op: object
) -> Call:
    """Both groups combine at their rank 0; these two swap results and broadcast them."""
    refuse_in_place(sendbuf, "used on an inter-communicator")
    receive = read_message(recvbuf, writable=True)
    send = read_message(sendbuf, writable=False)
    if send.kind.original != receive.kind.original or send.count != receive.count:
        raise ValueError(
            f"mismatch in datatypes or in send count {send.count} and receive count {receive.count}"
        )
    reduction = reduction_of(op, send.kind)
    parts = ([whole(send)], [whole(receive)])
    read = [send, receive, reduction]
    rounds = allreduce_rounds(sides)
    return _call("allreduce", sides, rounds, *parts, read, parts[0], reduction)


def reduce_scatter_block(
    rank: int, size: int, sides: Sides, sendbuf: object, recvbuf: object, op: object
) -> Call:
    """As `reduce_scatter`, with blocks of the receive buffer's count."""
    receive = read_message(recvbuf, writable=True)
    counts = (receive.count,) * len(sides.local)
    return reduce_scatter(rank, size, sides, sendbuf, recvbuf, counts, op)


def reduce_scatter(
    rank: int,
    size: int,
    sides: Sides,
    sendbuf: object,
    recvbuf: object,
    counts: Sequence[int],
    op: object,
) -> Call:
    """Both groups combine at their rank 0; these two swap results and deal them out."""
    refuse_in_place(sendbuf, "used on an inter-communicator")
    counts = tuple(int(count) for count in counts)
    receive = read_message(recvbuf, writable=True)
    send = read_message(sendbuf, writable=False)
    members = len(sides.local)
    if len(counts) != members:
        raise ValueError(f"expecting {members} receive counts, got {len(counts)}")
    if send.kind.original != receive.kind.original:
        raise ValueError("mismatch in send and receive MPI datatypes")
    if send.count != sum(counts) or receive.count != counts[sides.rank]:
        raise ValueError(
            f"mismatch: send count {send.count} and receive count {receive.count} on rank "
            f"{sides.rank} of counts {counts}"
        )
    reduction = reduction_of(op, send.kind)
    rounds = list(_combined(sides, Temp))
    arrived = Temp.row(2)
    if sides.rank == 0:
        leader = sides.remote[0]
        rounds.append((Send(leader, Temp[:]), Recv(leader, arrived[:])))
        sends = (Send(sides.local[i], arrived[i]) for i in range(1, members))
        rounds.append((*sends, Copy(arrived[0], Output[0])))
    else:
        rounds.append(Recv(sides.local[0], Output[0]))
    parts = _cut_by(send, counts)
    output = [whole(receive)]
    read = [send, receive, reduction, *counts]
    return _call("reduce_scatter", sides, rounds, parts, output, read, parts, reduction)


def _cut_by(message: Message, counts: Sequence[int]) -> list[Part]:
    parts, at = [], message.address
    for count in counts:
        parts.append((at, count, message.kind))
        at += count * message.kind.extent
    return parts
