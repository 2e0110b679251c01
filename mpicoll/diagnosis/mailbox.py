"""Messages about collectives, beside those of collectives, taken in while one looks for them.

They travel on the private communicator of the collectives, with a tag that no call has.
"""

from __future__ import annotations

import threading

from mpi4py import MPI

from mpicoll.execution.state import State

__all__ = ["Mailbox"]

#: Messages on their way that may wait for the next look at whether they have arrived.
MOST_SENT = 8


class Mailbox:
    """What has come for this rank on one communicator, until it is taken out.

    Any thread may use it. Keys are bytes without a newline.
    """

    def __init__(self, state: State) -> None:
        self.channel, self.tag = state.channel, state.tags
        self._letters: dict[tuple[bytes, int], bytes] = {}
        self._sent: list[tuple[MPI.Request, bytes]] = []
        self._lock = threading.Lock()

    def send(self, rank: int, key: bytes, content: bytes) -> None:
        """Send without waiting for the receiver."""
        message = key + b"\n" + content
        with self._lock:
            self._sent.append((self.channel.Isend([message, MPI.BYTE], rank, self.tag), message))
            if len(self._sent) > MOST_SENT:
                self._sent = [pair for pair in self._sent if not pair[0].Test()]

    def take(self, key: bytes, source: int) -> bytes | None:
        """A letter from `source`, if it has come, once."""
        self._look()
        return self._letters.pop((key, source), None)

    def all_of(self, key: bytes) -> dict[int, bytes]:
        """The letters with a key that have come, by sender; they stay."""
        self._look()
        return {source: text for (own, source), text in list(self._letters.items()) if own == key}

    def _look(self) -> None:
        """Take in what is there."""
        with self._lock:
            status = MPI.Status()
            while found := self.channel.Improbe(MPI.ANY_SOURCE, self.tag, status):
                message = bytearray(status.Get_count(MPI.BYTE))
                found.Recv([message, MPI.BYTE])
                key, _, content = bytes(message).partition(b"\n")
                self._letters[key, status.Get_source()] = content
