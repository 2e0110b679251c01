"""The guard against cheating: a private communicator that counts its messages and nothing else."""

from __future__ import annotations

from mpi4py import MPI

from mpicoll.communicator import Intracomm
from mpicoll.execution.state import NATIVE_COLLECTIVES, Channel

__all__ = ["CountingChannel", "guarded"]

#: Every method of mpi4py's communicators that sends a message.
SENDING = (
    "Send Bsend Ssend Rsend Isend Ibsend Issend Irsend Sendrecv Sendrecv_replace Isendrecv "
    "Isendrecv_replace Send_init Bsend_init Ssend_init Rsend_init Psend_init "
    "send bsend ssend isend ibsend issend sendrecv"
).split()


class CountingChannel(Channel):
    """A `Channel`, whose collectives raise, that counts messages as they are sent."""

    messages = 0


def _counting(name: str):
    inherited = getattr(MPI.Intracomm, name)

    def send(self: CountingChannel, *args: object, **keywords: object) -> object:
        self.messages += 1
        return inherited(self, *args, **keywords)

    send.__name__ = name
    return send


for _name in SENDING:
    setattr(CountingChannel, _name, _counting(_name))


def guarded(comm: MPI.Intracomm) -> tuple[Intracomm, CountingChannel]:
    """A communicator of ours on a duplicate of `comm`, and its channel, which counts."""
    ours = Intracomm(comm.Dup())
    channel = CountingChannel(ours.state.channel)
    ours.state.channel = channel
    native = [name for name in NATIVE_COLLECTIVES if name not in vars(Channel)]
    if native:
        raise AssertionError(f"native collectives that do not raise: {', '.join(native)}")
    return ours, channel
