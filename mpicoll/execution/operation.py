"""Started collectives: the same bound rounds, resumed whenever somebody waits or tests."""

from __future__ import annotations

import threading
from collections.abc import Callable

from mpicoll.execution import native
from mpicoll.execution.bind import Bound
from mpicoll.execution.progress import progress

__all__ = ["Operation", "PersistentOperation"]


class Operation:
    """The rounds of one call on one rank, at some point of their way.

    The functions in `at_end` are called with the error of a round or None, by the thread that holds
    `lock` and moves the operation; the error is raised to whoever waits. An `eager` operation is
    moved all the time by the helper thread, if there is one. `requests` are the messages of the
    round at `position`, receives first. Nothing is sent before `gate`, if there is one, says so; it
    is called with `block`.
    """

    eager = False

    def __init__(self, bound: Bound, channel: native.Intracomm, tag: int) -> None:
        self.bound, self.channel, self.tag = bound, channel, tag
        self.at_end: list[Callable[[BaseException | None], None]] = []
        self.lock = threading.Lock()
        self.moved = 0.0
        self.gate: Callable[[bool], bool] | None = None
        self.error: BaseException | None = None
        self.complete = True
        self.position = 0
        self.requests: list[native.Request] = []

    def start(self) -> bool:
        """Post the first round and do what can be done at once; True if that was all.

        Otherwise somebody must look after the operation: see `progress.add`.
        """
        self.complete = False
        self.error = None
        self.position = 0
        if self.gate is None:
            self._post()
        return self.advance()

    def advance(self, block: bool = False) -> bool:
        """Do what can be done without waiting, or everything if `block`; True when complete."""
        if self.complete:
            return True
        try:
            if self.gate is not None:
                if not self.gate(block):
                    return False
                self.gate = None
                self._post()
            while self.position < len(self.bound.rounds):
                if self.requests:
                    if block:
                        native.Request.Waitall(self.requests)
                    elif not native.Request.Testall(self.requests):
                        return False
                for call in self.bound.rounds[self.position].local:
                    call()
                self.position += 1
                self._post()
        except BaseException as error:  # whoever waits must see it, in whatever thread it was
            self.error = error
        self.complete = True
        for function in self.at_end:
            function(self.error)
        return True

    def _post(self) -> None:
        self.requests = []
        if self.position < len(self.bound.rounds):
            self.requests = self.posted(self.position)

    def posted(self, position: int) -> list[native.Request]:
        """The messages of a round, on their way."""
        _, receives, sends, _ = self.bound.rounds[position]
        channel, tag = self.channel, self.tag
        requests = [channel.Irecv(received, source, tag) for received, source in receives]
        requests += [channel.Isend(sent, dest, tag) for sent, dest in sends]
        return requests

    def wait(self) -> None:
        """Return when the operation is complete; raise what went wrong in it."""
        if not self.complete:
            progress.finish(self)
        self.check()

    def test(self) -> bool:
        """True if the operation is complete, after moving what can be moved."""
        if not self.complete:
            progress.move()
        if self.complete:
            self.check()
        return self.complete

    def check(self) -> None:
        """Raise the error of a round, once."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error


class PersistentOperation(Operation):
    """An operation whose messages are prepared once and started again and again."""

    def __init__(self, bound: Bound, channel: native.Intracomm, tag: int) -> None:
        super().__init__(bound, channel, tag)
        self._prepared = [
            [channel.Recv_init(received, source, tag) for received, source in receives]
            + [channel.Send_init(sent, dest, tag) for sent, dest in sends]
            for _, receives, sends, _ in bound.rounds
        ]

    def posted(self, position: int) -> list[native.Request]:
        """The prepared messages of a round, started."""
        requests = self._prepared[position]
        if requests:
            native.Prequest.Startall(requests)
        return requests

    def free(self) -> None:
        """Give the prepared messages back to MPI."""
        for requests in self._prepared:
            for request in requests:
                request.Free()
        self._prepared = []
        self.bound.free()
