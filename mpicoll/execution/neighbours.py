"""Neighbourhood collectives: one round of messages along the edges of a process topology.

Their plans depend on the edges of one rank, so they are not in the registry. Block i of the output
comes from the i-th incoming edge, block j of the input goes along the j-th outgoing one (or block 0
along all of them). Edges to PROC_NULL carry nothing and leave their blocks as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mpi4py import MPI

from mpicoll.execution import native
from mpicoll.execution.calls import (
    Call,
    Place,
    cache_key,
    exchanged,
    refuse_in_place,
    refuse_overlap,
    whole,
)
from mpicoll.execution.message import read_message
from mpicoll.steps import Input, Output, Plan, Recv, Send

__all__ = ["Edges", "allgather", "alltoall", "edges_of", "plan_of"]


class Edges(NamedTuple):
    """Neighbours of one rank: sources, destinations, and the order in which to send.

    Two edges between the same ranks are told apart by order alone. In a Cartesian grid what is
    sent in the positive direction arrives from the negative one (MPI 4.1, section 8.6), also if
    both neighbours are one rank: there, positive goes first.
    """

    sources: tuple[int, ...]
    destinations: tuple[int, ...]
    order: tuple[int, ...]


def edges_of(comm: MPI.Topocomm) -> Edges:
    """The edges of this rank."""
    sources, destinations = tuple(comm.inedges), tuple(comm.outedges)
    order = tuple(range(len(destinations)))
    if isinstance(comm, native.Cartcomm):
        order = tuple(edge ^ 1 for edge in order)
    return Edges(sources, destinations, order)


def plan_of(edges: Edges, *, same: bool) -> Plan:
    """The one round of a rank; `same`: all neighbours get block 0."""
    receives = (
        Recv(peer, Output[edge]) for edge, peer in enumerate(edges.sources) if peer != MPI.PROC_NULL
    )
    sends = (
        Send(edges.destinations[edge], Input[0 if same else edge])
        for edge in edges.order
        if edges.destinations[edge] != MPI.PROC_NULL
    )
    steps = (*receives, *sends)
    return (steps,) if steps else ()


def _refuse_in_place(*buffers: object) -> None:
    for buffer in buffers:
        refuse_in_place(buffer, "used in neighbourhood collectives")


def _call(
    name: str, rank: int, size: int, edges: Edges, sent: Sequence, received: Sequence, *read: object
) -> Call:
    refuse_overlap(list(sent), list(received))
    same = name == "neighbor_allgather"
    place = Place(sent, received, lambda block: (0, sent[0][2]), [], [])
    return Call(
        name,
        rank,
        size,
        lambda blocks, keep: place,
        read,
        cache_key(*read),
        fixed=(plan_of(edges, same=same), max(len(sent), len(received))),
    )


def allgather(
    rank: int, size: int, edges: Edges, sendbuf: object, recvbuf: object, v: bool
) -> Call:
    """Every destination gets this rank's block."""
    _refuse_in_place(sendbuf, recvbuf)
    receive, received = exchanged(recvbuf, len(edges.sources), "v" * v, writable=True)
    send = read_message(sendbuf, writable=False)
    blocks = ([whole(send)], list(received.values()))
    return _call("neighbor_allgather", rank, size, edges, *blocks, send, receive)


def alltoall(
    rank: int, size: int, edges: Edges, sendbuf: object, recvbuf: object, form: str
) -> Call:
    """Every destination gets a block of its own; `form` is "", "v" or "w"."""
    _refuse_in_place(sendbuf, recvbuf)
    receive, received = exchanged(recvbuf, len(edges.sources), form, writable=True)
    send, sent = exchanged(sendbuf, len(edges.destinations), form, writable=False)
    blocks = (list(sent.values()), list(received.values()))
    return _call("neighbor_alltoall", rank, size, edges, *blocks, send, receive)
