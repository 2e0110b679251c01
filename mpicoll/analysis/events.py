"""The events of a simulation: ranks begin rounds, messages come to links.

The model is described in `mpicoll.analysis.simulate`.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Callable, Sequence

from mpicoll.analysis.links import SCOPES, Links, Rates
from mpicoll.analysis.workload import Work

__all__ = ["Events", "SimulationError"]

# Fields of a message in flight.
_TO, _BYTES, _SCOPE, _NUMBER, _FROM, _BOUND, _ARRIVED, _STAGE, _READY, _BLOCKS = range(10)


class SimulationError(RuntimeError):
    """Plans that do not fit together: the proof of the algorithm says more."""


class Events:
    """The ranks, the messages on their way, and the events to come in the order of time."""

    def __init__(
        self,
        plans: Sequence[Sequence[Work]],
        block: float,
        links: Links,
        rates: Rates,
        rendezvous: int | None,
    ) -> None:
        """`block` is the bytes of a block; messages of more bytes than `rendezvous` meet first."""
        size = self.size = len(plans)
        self.plans, self.block, self.links, self.rates = plans, block, links, rates
        self.rendezvous = float("inf") if rendezvous is None else rendezvous
        self.at = [0] * size
        self.open = [0] * size
        self.ready = [0.0] * size
        self.left = [(0.0, -1)] * size
        self.arrived: list[list] = [[] for _ in range(size)]
        self.first = [0]
        for plan in plans:
            self.first.append(self.first[-1] + sum(len(work.sends) for work in plan))
        self.number = self.first[:-1]
        self.sent: dict[int, list] = {}
        self.posted: dict[int, list] = {}
        self.events: list[tuple] = []
        self.sequence = 0
        self.count = [0] * len(SCOPES)
        self.bytes = [0.0] * len(SCOPES)
        self.ends = [array("d") for _ in range(size)]
        self.causes = [array("q") for _ in range(size)]
        self.late: dict[int, tuple[int, int]] = {}

    def run(self, progress: Callable[[str, int, int], None]) -> None:
        """Let everything happen."""
        events, pop, begin, move = self.events, heapq.heappop, self.begin, self.move
        for rank in range(self.size):
            if self.plans[rank]:
                self.push(0.0, rank)
        steps, total = 0, sum(map(len, self.plans))
        while events:
            now, _, what = pop(events)
            if what.__class__ is int:
                begin(what, now)
                steps += 1
                if not steps & 4095:
                    progress("rounds", steps, total)
            else:
                move(what, now)
        self.check_end()

    def push(self, time: float, what: object) -> None:
        """Note an event; those of equal time happen in the order in which they were noted."""
        self.sequence += 1
        heapq.heappush(self.events, (time, self.sequence, what))

    def begin(self, rank: int, now: float) -> None:
        """Post the messages of a rank's next round."""
        work = self.plans[rank][self.at[rank]]
        waiting = 0
        arrived = self.arrived[rank] = []
        self.left[rank] = (now, -1)
        for peer, blocks in work.recvs:
            queue = self.sent.get(peer * self.size + rank)
            if not queue:
                self.posted.setdefault(peer * self.size + rank, []).append((blocks, now))
                waiting += 1
                continue
            message = queue.pop(0)
            self.check_amount(message, blocks)
            if message[_ARRIVED] is not None:
                overhead = self.rates.overhead[message[_SCOPE]]
                arrived.append((message[_ARRIVED], message[_NUMBER], overhead))
                continue
            waiting += 1
            message[_BOUND] = True
            if message[_READY] is not None:
                self.release(message, now, self.at[rank])
        clock = now
        for peer, blocks in work.sends:
            scope = self.links.scope(rank, peer)
            clock += self.rates.overhead[scope]
            waiting += self.send(rank, peer, blocks, scope, clock)
        self.ready[rank] = clock
        self.open[rank] = waiting
        if not waiting:
            self.finish(rank)

    def send(self, rank: int, peer: int, blocks: int, scope: int, clock: float) -> int:
        """Post a message at `clock`; 1 if it is not known yet when it has left, else 0."""
        nbytes, number = blocks * self.block, self.number[rank]
        self.number[rank] += 1
        self.count[scope] += 1
        self.bytes[scope] += nbytes
        message = [peer, nbytes, scope, number, rank, False, None, 0, None, blocks]
        queue = self.posted.get(rank * self.size + peer)
        since = None
        if queue:
            expected, since = queue.pop(0)
            self.check_amount(message, expected)
            message[_BOUND] = True
        else:
            self.sent.setdefault(rank * self.size + peer, []).append(message)
        if nbytes > self.rendezvous:
            message[_READY] = clock
            if since is not None:
                self.release(message, since, self.at[peer])
            return 1
        if self.links.exclusive[scope]:
            self.leave(message, clock)
            return 0
        self.push(clock, message)
        return 1

    def release(self, message: list, posted: float, number: int) -> None:
        """Both ends of a rendezvous are known: its bytes may go when the answer is back."""
        latency = self.rates.latency[message[_SCOPE]]
        asked = message[_READY] + latency
        if posted > asked:
            self.late[message[_NUMBER]] = (message[_TO], number)
            asked = posted
        self.push(asked + latency, message)

    def leave(self, message: list, now: float) -> None:
        """The first link: when the bytes are through, the sender may go on."""
        source, scope, nbytes = message[_FROM], message[_SCOPE], message[_BYTES]
        rates = self.rates
        link = self.links.nic_out[source] if scope else self.links.out[source]
        start = self.links.take(link, now, nbytes, rates.gap[scope], rates.per_byte[scope])
        left = start + nbytes * rates.per_byte[scope]
        if left > self.left[source][0]:
            self.left[source] = (left, message[_NUMBER])
        message[_STAGE] = 1 if scope == 2 else 3
        self.push(start if scope == 2 else start + rates.latency[scope], message)

    def move(self, message: list, now: float) -> None:
        """The head of a message has come to its next link."""
        stage, scope, links = message[_STAGE], message[_SCOPE], self.links
        if stage == 0:
            self.leave(message, now)
            self.close(message[_FROM])
        elif stage == 3:
            self.arrive(message, now)
        else:
            # Uplinks and downlinks are chosen by the destination, as InfiniBand's routing does.
            leaf = links.leaf[message[_FROM if stage == 1 else _TO]]
            lane = links.nodes[message[_TO]] % links.uplinks
            link = (links.up if stage == 1 else links.down)[leaf][lane]
            rate = self.rates.per_byte[scope]
            start = self.links.take(link, now, message[_BYTES], 0.0, rate)
            message[_STAGE] = stage + 1
            self.push(start if stage == 1 else start + self.rates.latency[scope], message)

    def arrive(self, message: list, now: float) -> None:
        """The last link: when the bytes are through, the receiver can have them."""
        target, scope, nbytes = message[_TO], message[_SCOPE], message[_BYTES]
        rates = self.rates
        link = self.links.nic_in[target] if scope else self.links.into[target]
        start = self.links.take(link, now, nbytes, rates.gap[scope], rates.per_byte[scope])
        arrived = start + nbytes * rates.per_byte[scope]
        if message[_BOUND]:
            self.arrived[target].append((arrived, message[_NUMBER], rates.overhead[scope]))
            self.close(target)
        else:
            message[_ARRIVED] = arrived

    def close(self, rank: int) -> None:
        """One thing less that a rank waits for."""
        self.open[rank] -= 1
        if not self.open[rank]:
            self.finish(rank)

    def finish(self, rank: int) -> None:
        """All messages of a round are complete: when the round ends, and what it waited for."""
        clock, cause = self.ready[rank], -1
        arrived = self.arrived[rank]
        if len(arrived) > 1:
            arrived.sort()
        for time, number, overhead in arrived:
            if time > clock:
                clock, cause = time, number
            clock += overhead
        left, number = self.left[rank]
        if left > clock:
            clock, cause = left, -2 - number
        at = self.at[rank]
        work = self.plans[rank][at]
        clock += self.block * (work.reduced * self.rates.reduce + work.copied * self.rates.copy)
        self.ends[rank].append(clock)
        self.causes[rank].append(cause)
        self.at[rank] = at + 1
        if at + 1 < len(self.plans[rank]):
            self.push(clock, rank)

    def check_amount(self, message: list, expected: int) -> None:
        """Both ends of a message have to agree about its size."""
        if message[_BLOCKS] != expected:
            raise SimulationError(
                f"rank {message[_FROM]} sends {message[_BLOCKS]} blocks to rank {message[_TO]}, "
                f"which receives {expected}: `mpicoll prove` says where"
            )

    def check_end(self) -> None:
        """Everybody has to come to an end."""
        stuck = [rank for rank in range(self.size) if self.at[rank] < len(self.plans[rank])]
        if stuck:
            rank = stuck[0]
            raise SimulationError(
                f"{len(stuck)} ranks never finish; rank {rank} waits in round {self.at[rank] + 1} "
                f"for {self.open[rank]} messages: `mpicoll prove` says why"
            )
