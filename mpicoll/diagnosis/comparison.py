"""The conversation by which ranks find out whether they call the same collective.

In ceil(log2 P) rounds, as in a dissemination barrier, a rank sends to the one 2**k further on what
it calls and whether all that it has seen agree. If some do not, every rank knows it after the last
round; then all tell all what they called and raise the same error. In the v and w forms, in which
only pairs of ranks must agree, these tell each other what they expect.

A rank that has waited too long asks who is here. Whoever hears it answers, and after a moment all
raise an error that names those who did not.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Mapping

from mpicoll.diagnosis.communicators import members, title
from mpicoll.diagnosis.mailbox import Mailbox
from mpicoll.diagnosis.mismatch import compare, missing
from mpicoll.diagnosis.signature import Signature
from mpicoll.diagnosis.states import Collective, Place, RankState
from mpicoll.errors import MismatchError
from mpicoll.execution.event import Where
from mpicoll.execution.state import State

__all__ = ["Comparison", "Steps"]

#: Seconds for others to answer who is here.
GRACE = 2.0
OK, WRONG = b"+", b"-"
HERE = b"here"

#: Goes on whenever it is asked to, and says by yielding that it waits for others.
Steps = Generator[None, None, None]
Parts = Mapping[int, Signature]


class Comparison:
    """One collective on one rank: the `number`-th on a communicator.

    `facts` are what all must say alike; `pairs` what goes to and comes from each rank, where only
    these two agree on it. After `timeout` seconds others are missing (None: never).
    """

    def __init__(
        self,
        mail: Mailbox,
        state: State,
        number: int,
        method: str,
        facts: dict[str, str],
        where: Callable[[], Where],
        timeout: float | None,
        pairs: tuple[Parts, Parts] | None = None,
    ) -> None:
        self.mail, self.state, self.number, self.method = mail, state, number, method
        self.facts, self.where, self.pairs = facts, where, pairs
        self._begun = time.monotonic()
        self._deadline = None if timeout is None else self._begun + timeout
        self._word = b"%d" % number

    def limit(self, timeout: float) -> None:
        """From now on, others are missing after so many seconds."""
        if self._deadline is None:
            self._deadline = time.monotonic() + timeout

    def steps(self) -> Steps:
        """Compare; raises MismatchError on all ranks if something differs."""
        own = "\0".join((self.method, *self.facts.values())).encode()
        same = yield from self._rounds(b"same", own, True)
        faults: list[str] = []
        if same:
            if self.pairs is None:
                return
            faults = yield from self._in_pairs(*self.pairs)
            same = yield from self._rounds(b"pairs", b"", not faults)
            if same:
                return
        yield from self._disagree(faults)

    def _rounds(self, phase: bytes, own: bytes, same: bool) -> Generator[None, None, bool]:
        """Whether all ranks have the same, and none found something wrong."""
        rank, size = self.state.rank, self.state.size
        distance = 1
        while distance < size:
            key = b"%s %s %d" % (phase, self._word, distance)
            self.mail.send((rank + distance) % size, key, (OK if same else WRONG) + own)
            got = yield from self._letter(key, (rank - distance) % size)
            same = same and got[:1] == OK and got[1:] == own
            distance *= 2
        return same

    def _letter(self, key: bytes, source: int) -> Generator[None, None, bytes]:
        looks = 0
        while (letter := self.mail.take(key, source)) is None:
            looks += 1
            # Now and then: it is dearer than a look, and rarely so.
            if looks % 64 == 0:
                late = self._deadline is not None and time.monotonic() > self._deadline
                if late or self.mail.all_of(HERE):
                    yield from self._who_is_here()
            yield
        return letter

    def _in_pairs(self, sends: Parts, receives: Parts) -> Generator[None, None, list[str]]:
        """What does not fit between this rank and others, in sentences."""
        own = self.state.rank
        ranks = members(self.state)
        key, faults = b"pair " + self._word, []
        for peer, part in sends.items():
            if peer != own:
                self.mail.send(peer, key, f"{part.count} {part.types}".encode())
        for peer, part in receives.items():
            if peer == own:
                continue
            letter = yield from self._letter(key, peer)
            count, _, types = letter.decode().partition(" ")
            sent = Signature(types, int(count))
            if sent != part:
                faults.append(
                    f"rank {ranks[peer]} sends {_words(sent)} to rank {ranks[own]}, which expects "
                    f"{_words(part)}"
                )
        return faults

    def _tell(self, key: bytes, faults: list[str]) -> bytes:
        """Say to all others what this rank calls."""
        place = Place(*self.where())
        text = [place.file, place.line, place.function, place.text]
        told = json.dumps([self.number, self.method, self.facts, text, faults]).encode()
        for rank in self._others():
            self.mail.send(rank, key, told)
        return told

    def _others(self) -> list[int]:
        return [rank for rank in range(self.state.size) if rank != self.state.rank]

    def _disagree(self, faults: list[str]) -> Steps:
        """Everybody is here: tell each other, and raise."""
        key = b"call " + self._word
        told = {self.state.rank: self._tell(key, faults)}
        for rank in self._others():
            told[rank] = yield from self._letter(key, rank)
        calls, faults = self._calls(told)
        found = compare(calls)
        lines = [found.text] if found else []
        if faults:
            first = next(iter(calls.values()))
            lines.append(f"parts of {first.name} do not fit, {first.position}:")
            lines += [f"  {fault}" for fault in faults]
            lines += [f"  rank {rank} called at {call.where}" for rank, call in calls.items()]
        raise MismatchError("\n".join(lines))

    def _calls(self, told: dict[int, bytes]) -> tuple[dict[int, Collective], list[str]]:
        """What ranks said, by their rank in the world, and all faults."""
        ranks, name = members(self.state), title(self.state)
        calls, faults = {}, []
        for rank, content in sorted(told.items()):
            number, method, facts, place, wrong = json.loads(content)
            calls[ranks[rank]] = Collective(method, number, ranks, name, facts, Place(*place))
            faults += wrong
        return calls, faults

    def _who_is_here(self) -> Steps:
        """Too late, for this rank or for another: name those who have not come."""
        seconds = time.monotonic() - self._begun
        own = self._tell(HERE, [])
        end = time.monotonic() + GRACE
        while len(heard := self.mail.all_of(HERE)) < self.state.size - 1:
            if time.monotonic() > end:
                break
            yield
        calls, _ = self._calls({self.state.rank: own} | heard)
        states = [
            RankState(rank, "blocked", call.where, waits=(call,), history=(call,))
            for rank, call in calls.items()
        ]
        absent = [rank for rank in members(self.state) if rank not in calls]
        states += [RankState(rank, "unknown") for rank in absent]
        lines = [f"after {seconds:.0f} s:", *(text for _, text in missing(states))]
        if len({call.number for call in calls.values()}) == 1:
            wrong = compare(calls)
            lines += [wrong.text] if wrong else []
        if len(lines) == 1:
            lines.append(f"{self.method} has not come together, though all ranks are in it now")
        raise MismatchError("\n".join(lines))


def _words(part: Signature) -> str:
    return f"{part.count} {part.types}" if part.count else "nothing"
