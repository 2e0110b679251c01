"""The blocking executor: a loop over bound rounds."""

from __future__ import annotations

from mpicoll.execution import native
from mpicoll.execution.bind import MANY, RECV, SEND, SENDRECV

__all__ = ["run"]


def run(program: tuple, channel: native.Intracomm, tag: int) -> None:
    """Run the program of a bound plan on the private communicator `channel`, all with `tag`."""
    for kind, sent, dest, received, source, local in program:
        if kind == SENDRECV:
            channel.Sendrecv(sent, dest, tag, received, source, tag)
        elif kind == RECV:
            channel.Recv(sent, dest, tag)
        elif kind == SEND:
            channel.Send(sent, dest, tag)
        elif kind == MANY:
            requests = [channel.Irecv(spec, peer, tag) for spec, peer in received]
            requests += [channel.Isend(spec, peer, tag) for spec, peer in sent]
            native.Request.Waitall(requests)
        for call in local:
            call()
