"""The blocking executor: a loop over bound rounds."""

from __future__ import annotations

from mpicoll.execution import native
from mpicoll.execution.bind import LOCAL, RECV, SEND, SENDRECV, Bound

__all__ = ["run"]


def run(bound: Bound, channel: native.Intracomm, tag: int) -> None:
    """Run all rounds on the private communicator `channel`, with `tag` on every message."""
    for kind, receives, sends, local in bound.rounds:
        if kind == SENDRECV:
            (received, source), (sent, dest) = receives[0], sends[0]
            channel.Sendrecv(sent, dest, tag, received, source, tag)
        elif kind == RECV:
            received, source = receives[0]
            channel.Recv(received, source, tag)
        elif kind == SEND:
            sent, dest = sends[0]
            channel.Send(sent, dest, tag)
        elif kind != LOCAL:
            requests = [channel.Irecv(received, source, tag) for received, source in receives]
            requests += [channel.Isend(sent, dest, tag) for sent, dest in sends]
            native.Request.Waitall(requests)
        for call in local:
            call()
