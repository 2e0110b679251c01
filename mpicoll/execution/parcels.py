"""Messages that say how long they are: how packed values travel.

A parcel is the values of one chunk for one peer. Its first message is an envelope of limited size,
so that the receiver can be waiting for it: it holds the description (how many segments each value
has, and their lengths) and the short segments, which is all there is for small objects. What does
not fit follows in another message, and every long segment in one of its own, straight into memory
of the right size. The three kinds have a tag each, so that several parcels of one peer in one round
are told apart by order alone. A matched probe would do without envelopes, but cannot be waited for
together with other requests.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Sequence

import numpy as np
from mpi4py import MPI

from mpicoll.execution import native
from mpicoll.execution.layout import LARGEST_MESSAGE
from mpicoll.execution.progress import progress, wait_all
from mpicoll.execution.values import Packed

__all__ = ["exchange"]

#: Bytes of an envelope: below the size up to which Open MPI sends at once in shared memory, 4 KiB.
ENVELOPE = 4032
#: Segments of this length travel by themselves and are not copied.
LONG = 1 << 16
#: The head of an envelope: words of the description, bytes of description and short segments.
HEAD = struct.Struct("qq")
WORD = 8

Requests = list[native.Request]


def exchange(
    channel: native.Intracomm,
    tags: tuple[int, int, int],
    receives: Sequence[tuple[int, int]],
    sends: Sequence[tuple[int, Sequence[Packed | None]]],
) -> tuple[list[list[Packed | None]], int]:
    """One round: send values to peers, and receive the values of others.

    Receives are ``(peer, number of values)``. First everybody swaps envelopes, then what follows
    them; in both, all messages are posted before the first is waited for, so that a round cannot
    deadlock where its proof says that it does not. Returns the values of each receive, and the
    bytes sent.
    """
    arriving = [_Arrival(peer) for peer, _ in receives]
    parcels = [(peer, *_parcel(values)) for peer, values in sends]
    _swap(channel, tags[0], arriving, parcels)
    sent = [
        channel.Isend([piece, len(piece), MPI.BYTE], peer, tag)
        for peer, _, rest, long, _ in parcels
        for tag, memories in ((tags[1], rest), (tags[2], long))
        for memory in memories
        for piece in _pieces(memory)
    ]
    rest = [request for arrival in arriving for request in arrival.rest(channel, tags[1])]
    if rest:
        wait_all(rest)
    for arrival in arriving:
        sent += arrival.long(channel, tags[2])
    if sent:
        wait_all(sent)
    return [arrival.values() for arrival in arriving], sum(nbytes for *_, nbytes in parcels)


def _swap(
    channel: native.Intracomm,
    tag: int,
    arriving: list[_Arrival],
    parcels: list[tuple[int, bytes, list, list, int]],
) -> None:
    """Send and receive envelopes, by the shortest way that there is for one of each."""
    if progress.pending or len(arriving) > 1 or len(parcels) > 1:
        requests = [channel.Irecv(arrival.envelope, arrival.peer, tag) for arrival in arriving]
        requests += [channel.Isend(envelope, peer, tag) for peer, envelope, *_ in parcels]
        wait_all(requests)
    elif arriving and parcels:
        (arrival,), ((peer, envelope, *_),) = arriving, parcels
        channel.Sendrecv(envelope, peer, tag, arrival.envelope, arrival.peer, tag)
    elif arriving:
        channel.Recv(arriving[0].envelope, arriving[0].peer, tag)
    else:
        peer, envelope, *_ = parcels[0]
        channel.Send(envelope, peer, tag)


def _parcel(values: Sequence[Packed | None]) -> tuple[bytes, list, list, int]:
    """The messages of one parcel: envelope, the rest of it if any, long segments; and its bytes."""
    description = array("q")
    short, long = [], []
    nbytes = 0
    for value in values:
        segments = () if value is None else value.segments
        # A negative number marks a failure.
        description.append(-len(segments) if value is not None and value.failed else len(segments))
        for segment in segments:
            length = len(segment)
            description.append(length)
            nbytes += length
            (short if length < LONG else long).append(segment)
    body = b"".join((description.tobytes(), *short))
    here = ENVELOPE - HEAD.size
    envelope = HEAD.pack(len(description), len(body)) + body[:here]
    return envelope, [memoryview(body)[here:]] if len(body) > here else [], long, nbytes


def _pieces(memory: object) -> Iterator[memoryview]:
    memory = memoryview(memory)
    for start in range(0, len(memory), LARGEST_MESSAGE):
        yield memory[start : start + LARGEST_MESSAGE]


class _Arrival:
    """A parcel that is being received."""

    def __init__(self, peer: int) -> None:
        self.peer = peer
        self.envelope = bytearray(ENVELOPE)
        self.segments: list[list] = []
        self.failed: list[bool] = []

    def rest(self, channel: native.Intracomm, tag: int) -> Requests:
        """Read the envelope, and receive the description and the short segments whole."""
        self.words, nbytes = HEAD.unpack_from(self.envelope)
        here = memoryview(self.envelope)[HEAD.size : HEAD.size + nbytes]
        self.body = here
        if len(here) == nbytes:
            return []
        self.body = memoryview(np.empty(nbytes, np.uint8))
        self.body[: len(here)] = here
        return self._receive(channel, tag, self.body[len(here) :])

    def long(self, channel: native.Intracomm, tag: int) -> Requests:
        """Divide the body into segments, and receive the long ones."""
        requests: Requests = []
        at = WORD * self.words
        words = iter(self.body[:at].cast("q"))
        for count in words:
            self.failed.append(count < 0)
            segments: list = []
            for _ in range(abs(count)):
                length = next(words)
                if length < LONG:
                    segments.append(self.body[at : at + length])
                    at += length
                else:
                    segments.append(np.empty(length, np.uint8))
                    requests += self._receive(channel, tag, segments[-1])
            self.segments.append(segments)
        return requests

    def _receive(self, channel: native.Intracomm, tag: int, memory: object) -> Requests:
        return [
            channel.Irecv([piece, len(piece), MPI.BYTE], self.peer, tag)
            for piece in _pieces(memory)
        ]

    def values(self) -> list[Packed | None]:
        """What was sent."""
        # A short out-of-band buffer lies within the body, where an array would not be aligned.
        return [
            Packed(segments, _aligned(segments), failed) if segments else None
            for segments, failed in zip(self.segments, self.failed, strict=True)
        ]


def _aligned(segments: list) -> bool:
    return len(segments) == 1 or not any(isinstance(s, memoryview) for s in segments[1:])
