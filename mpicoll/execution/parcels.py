"""Messages that say how long they are: how packed values travel.

A parcel is the values of one chunk for one peer. Its first message is an envelope of limited size,
so that the receiver can be waiting for it: it holds the description (how many segments each value
has, and their lengths) and the short segments, which is all there is for small objects. What does
not fit, and every long segment by itself, follows under a second tag, straight into memory of the
right size. A matched probe would do without the envelope, but cannot be waited for together with
other requests.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Sequence

import numpy as np
from mpi4py import MPI

from mpicoll.execution.layout import LARGEST_MESSAGE
from mpicoll.execution.progress import wait_all
from mpicoll.execution.values import Packed

__all__ = ["exchange"]

#: Bytes of an envelope: below the size up to which Open MPI sends at once in shared memory, 4 KiB.
ENVELOPE = 4032
#: Segments of this length travel by themselves and are not copied.
LONG = 1 << 16
#: The head of an envelope: words of the description, bytes of description and short segments.
HEAD = struct.Struct("qq")
WORD = 8

Requests = list[MPI.Request]


def exchange(
    channel: MPI.Intracomm,
    tags: tuple[int, int],
    receives: Sequence[tuple[int, int]],
    sends: Sequence[tuple[int, Sequence[Packed | None]]],
) -> tuple[list[list[Packed | None]], int]:
    """One round: send values to peers, and receive the values of others.

    Receives are ``(peer, number of values)``. All messages are posted before the first is waited
    for, so that a round cannot deadlock where its proof says that it does not. Returns the values
    of each receive, and the bytes sent.
    """
    arriving = [_Arrival(peer) for peer, _ in receives]
    envelopes = [arrival.expect(channel, tags[0]) for arrival in arriving]
    sent: Requests = []
    nbytes = 0
    for peer, values in sends:
        nbytes += _post(channel, peer, tags, values, sent)
    if arriving:
        wait_all(envelopes)
        rest = [r for arrival in arriving for r in arrival.rest(channel, tags[1])]
        if rest:
            wait_all(rest)
        for arrival in arriving:
            sent += arrival.long(channel, tags[1])
    wait_all(sent)
    return [arrival.values() for arrival in arriving], nbytes


def _post(
    channel: MPI.Intracomm,
    peer: int,
    tags: tuple[int, int],
    values: Sequence[Packed | None],
    sent: Requests,
) -> int:
    """Post the messages of one parcel and return how many bytes they have."""
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
    first = HEAD.pack(len(description), len(body)) + body[: ENVELOPE - HEAD.size]
    sent.append(channel.Isend([first, len(first), MPI.BYTE], peer, tags[0]))
    sent += [
        channel.Isend([piece, len(piece), MPI.BYTE], peer, tags[1])
        for memory in (memoryview(body)[ENVELOPE - HEAD.size :], *long)
        for piece in _pieces(memory)
    ]
    return nbytes


def _pieces(memory: object) -> Iterator[memoryview]:
    memory = memoryview(memory)
    for start in range(0, len(memory), LARGEST_MESSAGE):
        yield memory[start : start + LARGEST_MESSAGE]


class _Arrival:
    """A parcel that is being received."""

    def __init__(self, peer: int) -> None:
        self.peer = peer
        self.body = self.envelope = np.empty(ENVELOPE, np.uint8)
        self.segments: list[list] = []
        self.failed: list[bool] = []

    def expect(self, channel: MPI.Intracomm, tag: int) -> MPI.Request:
        return channel.Irecv([self.envelope, ENVELOPE, MPI.BYTE], self.peer, tag)

    def rest(self, channel: MPI.Intracomm, tag: int) -> Requests:
        """Read the envelope, and receive the description and the short segments whole."""
        self.words, nbytes = HEAD.unpack_from(self.envelope)
        self.body = self.envelope[HEAD.size : HEAD.size + nbytes]
        if HEAD.size + nbytes <= ENVELOPE:
            return []
        here = ENVELOPE - HEAD.size
        self.body = np.empty(nbytes, np.uint8)
        self.body[:here] = self.envelope[HEAD.size :]
        return self._receive(channel, tag, self.body[here:])

    def long(self, channel: MPI.Intracomm, tag: int) -> Requests:
        """Divide the body into segments, and receive the long ones."""
        requests: Requests = []
        at = WORD * self.words
        words = iter(self.body[:at].view("q").tolist())
        body = memoryview(self.body)
        for count in words:
            self.failed.append(count < 0)
            segments: list = []
            for _ in range(abs(count)):
                length = next(words)
                if length < LONG:
                    segments.append(body[at : at + length])
                    at += length
                else:
                    segments.append(np.empty(length, np.uint8))
                    requests += self._receive(channel, tag, segments[-1])
            self.segments.append(segments)
        return requests

    def _receive(self, channel: MPI.Intracomm, tag: int, memory: np.ndarray) -> Requests:
        return [
            channel.Irecv([piece, len(piece), MPI.BYTE], self.peer, tag)
            for piece in _pieces(memory)
        ]

    def values(self) -> list[Packed | None]:
        # A short out-of-band buffer lies within the body, where its object may not be aligned.
        return [
            Packed(segments, _aligned(segments), failed) if segments else None
            for segments, failed in zip(self.segments, self.failed, strict=True)
        ]


def _aligned(segments: list) -> bool:
    return not any(isinstance(segment, memoryview) for segment in segments[1:])
