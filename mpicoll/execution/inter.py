"""Readers of collectives on inter-communicators: data goes from one group to the other.

Both groups are merged into one private communicator; `mpicoll.execution.inter_rounds` has the plans
on its ranks. As everywhere, `rank` and `size` come first: here they are those of the merged groups,
and `sides` tells more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from mpi4py import MPI

from mpicoll.execution.calls import (
    Call,
    Place,
    cache_key,
    exchanged,
    refuse_in_place,
    refuse_overlap,
    whole,
)
from mpicoll.execution.datatypes import BYTES
from mpicoll.execution.inter_rounds import (
    Sides,
    allreduce_rounds,
    barrier_rounds,
    bcast_rounds,
    everybody,
    reduce_rounds,
    reduce_scatter_rounds,
    root_of,
    rooted_rounds,
)
from mpicoll.execution.layout import Part
from mpicoll.execution.message import Message, Vector, read_message
from mpicoll.execution.reducing import by_counts, check_op, vectors
from mpicoll.execution.reduction import Reduction, reduction_of
from mpicoll.registry import plan_from
from mpicoll.steps import Round, Step

__all__ = [
    "allgather",
    "allreduce",
    "alltoall",
    "barrier",
    "bcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scatter",
]


def _call(
    name: str,
    sides: Sides,
    rounds: Iterable[Round | Step],
    sent: Sequence[Part] = (),
    received: Sequence[Part] = (),
    read: Sequence[Message | Vector | int | None] = (),
) -> Call:
    """A call that moves blocks, for which no scratch is needed.

    `read` is what the arguments said, in all three: first what is sent, then what is received.
    """
    refuse_overlap(list(sent), list(received))
    place = Place(sent, received, lambda block: (0, BYTES), [], [])
    blocks = max(len(sent), len(received), 1)
    return _fixed(name, sides, rounds, blocks, lambda keep: place, read)


def _reducing(
    name: str,
    sides: Sides,
    rounds: Iterable[Round | Step],
    sent: Part | None,
    received: Part | None,
    read: Sequence[Message | Vector | Reduction | int | None],
    reduction: Reduction,
    counts: Sequence[int] | None = None,
) -> Call:
    """A call that combines the vectors of the other group; `counts` cut the operands."""
    if sent is not None and received is not None:
        refuse_overlap([sent], [received])
    source = (sent, by_counts(counts or sent[1:2])) if sent is not None else None
    target = (received, by_counts(received[1:2])) if received is not None else None
    place = vectors(reduction, len(sides.remote), source, target)
    blocks = len(counts or (0,))
    return _fixed(name, sides, rounds, blocks, place, read, reduction)


def _fixed(
    name: str,
    sides: Sides,
    rounds: Iterable[Round | Step],
    blocks: int,
    place: Callable[[list], Place],
    read: Sequence[Message | Vector | Reduction | int | None],
    reduction: Reduction | None = None,
) -> Call:
    return Call(
        name,
        sides.local[sides.rank],
        len(sides.local) + len(sides.remote),
        lambda _, keep: place(keep),
        tuple(read[:2]),
        cache_key(*read),
        reduction=reduction,
        fixed=(plan_from(rounds, blocks), blocks),
    )


def _side(message: Message | Vector, sending: bool) -> tuple[Message | Vector | None, ...]:
    """The one buffer of a rank as what is sent and what is received."""
    return (message, None) if sending else (None, message)


def barrier(rank: int, size: int, sides: Sides) -> Call:
    """Everybody of both groups waits for everybody: dissemination over the merged ranks."""
    return _call("barrier", sides, barrier_rounds(sides))


def bcast(rank: int, size: int, sides: Sides, buf: object, root: object) -> Call:
    """The root and the other group form a binomial tree."""
    top = root_of(root, sides)
    if top is None:
        return _call("bcast", sides, ())
    sending = root == MPI.ROOT
    message = read_message(buf, writable=not sending)
    rounds = bcast_rounds(sides, top, sending)
    return _call("bcast", sides, rounds, (), [whole(message)], [*_side(message, sending), top])


def _rooted(name: str, sides: Sides, root: object, buffers: dict, v: bool, sends: bool) -> Call:
    """Scatter (`sends`: the root sends) and gather: the root has a message for each remote rank."""
    top = root_of(root, sides)
    if top is None:
        return _call(name, sides, ())
    is_root = root == MPI.ROOT
    writes = sends != is_root
    buffer = buffers["recvbuf" if writes else "sendbuf"]
    if is_root:
        message, found = exchanged(buffer, len(sides.remote), "v" * v, writable=writes)
        parts = list(found.values())
    else:
        message = read_message(buffer, writable=writes)
        parts = [whole(message)]
    sent, received = ((), parts) if writes else (parts, ())
    rounds = rooted_rounds(sides, top, is_root, sends)
    return _call(name, sides, rounds, sent, received, [*_side(message, not writes), top, v])


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


def allgather(
    rank: int, size: int, sides: Sides, sendbuf: object, recvbuf: object, v: bool
) -> Call:
    """Everybody gets the blocks of the other group."""
    refuse_in_place(sendbuf, "used on an inter-communicator")
    receive, received = exchanged(recvbuf, len(sides.remote), "v" * v, writable=True)
    send = read_message(sendbuf, writable=False)
    rounds = [everybody(sides, same=True)]
    return _call(
        "allgather", sides, rounds, [whole(send)], list(received.values()), [send, receive]
    )


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


def reduce(
    rank: int, size: int, sides: Sides, sendbuf: object, recvbuf: object, op: object, root: object
) -> Call:
    """The other group's vectors are combined by its rank 0, which sends the result to the root."""
    check_op(op)
    top = root_of(root, sides)
    if top is None:
        return _call("reduce", sides, ())
    is_root = root == MPI.ROOT
    message = read_message(recvbuf if is_root else sendbuf, writable=is_root)
    part = whole(message)
    sent, received = (None, part) if is_root else (part, None)
    rounds = reduce_rounds(sides, top, is_root)
    reduction = reduction_of(op, message.kind)
    read = [*_side(message, not is_root), reduction, top]
    return _reducing("reduce", sides, rounds, sent, received, read, reduction)


def allreduce(
    rank: int, size: int, sides: Sides, sendbuf: object, recvbuf: object, op: object
) -> Call:
    """Both groups combine at their rank 0; these two swap results and broadcast them."""
    check_op(op)
    refuse_in_place(sendbuf, "used on an inter-communicator")
    receive = read_message(recvbuf, writable=True)
    send = read_message(sendbuf, writable=False)
    if send.kind.original != receive.kind.original or send.count != receive.count:
        raise ValueError(
            f"mismatch in datatypes or in send count {send.count} and receive count {receive.count}"
        )
    reduction = reduction_of(op, send.kind)
    parts, read = (whole(send), whole(receive)), [send, receive, reduction]
    return _reducing("allreduce", sides, allreduce_rounds(sides), *parts, read, reduction)


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
    check_op(op)
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
    parts, read = (whole(send), whole(receive)), [send, receive, reduction, *counts]
    rounds = reduce_scatter_rounds(sides)
    return _reducing("reduce_scatter", sides, rounds, *parts, read, reduction, counts)
