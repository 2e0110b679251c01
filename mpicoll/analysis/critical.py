"""The critical path of a simulation: the messages and local steps that made it take so long.

Beginning with the rank that finishes last, each round is followed to what it waited for: the rank's
own round before, or the round of another rank from which the decisive message came.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from mpicoll.analysis.links import SCOPES
from mpicoll.analysis.simulate import Simulation

__all__ = ["Segment", "critical_path", "shares"]


@dataclass(frozen=True)
class Segment:
    """A stretch of the path, from `start` to `end` in seconds; segments follow without a gap.

    `kind` is "message" (posted in a round of `rank` that begins at `start`, received by `peer`
    until `end`), "send" (the rank waits until its own message has left), "post" (it posts messages
    and takes in those that are there), or "local" (it combines and copies). `round` counts from 1.
    Of the time of a message, `overhead`, `latency` and `transfer` are what it needs alone, and
    `waiting` is the rest: busy links, other messages of the round, a receive that is late.
    """

    kind: str
    rank: int
    round: int
    start: float
    end: float
    peer: int | None = None
    scope: str | None = None
    nbytes: float = 0.0
    overhead: float = 0.0
    latency: float = 0.0
    transfer: float = 0.0

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return self.end - self.start

    @property
    def waiting(self) -> float:
        """What remains of the time of a message or of a send."""
        if self.kind not in ("message", "send"):
            return 0.0
        rest = self.seconds - self.overhead - self.latency - self.transfer
        return rest if rest > 1e-12 * self.end else 0.0

    def as_json(self) -> dict[str, object]:
        """All there is to know."""
        return {**asdict(self), "waiting": self.waiting}


def critical_path(simulation: Simulation) -> list[Segment]:
    """The path in the order of time; it takes exactly as long as the simulation."""
    finish = simulation.finish
    rank = max(range(len(finish)), key=finish.__getitem__)
    number = len(simulation.ends[rank]) - 1
    path: list[Segment] = []
    while number >= 0:
        work = simulation.workload.plans[rank][number]
        start, end = _start(simulation, rank, number), simulation.ends[rank][number]
        block = simulation.nbytes / simulation.workload.blocks
        rates = simulation.rates
        local = block * (work.reduced * rates.reduce + work.copied * rates.copy)
        if local > 0:
            nbytes = block * (work.reduced + work.copied)
            path.append(Segment("local", rank, number + 1, end - local, end, nbytes=nbytes))
            end -= local
        cause = simulation.causes[rank][number]
        if cause == -1:
            if end > start:
                path.append(Segment("post", rank, number + 1, start, end))
            number -= 1
            continue
        kind, message = ("message", cause) if cause >= 0 else ("send", -2 - cause)
        source, sent, peer, nbytes = _find(simulation, message)
        # Whoever came last to the meeting is the one to follow.
        before = simulation.late.get(message, (source, sent))
        path.append(_message(simulation, kind, source, sent, peer, nbytes, before, end))
        rank, number = before[0], before[1] - 1
    return path[::-1]


def _start(simulation: Simulation, rank: int, number: int) -> float:
    return simulation.ends[rank][number - 1] if number else 0.0


def _find(simulation: Simulation, message: int) -> tuple[int, int, int, float]:
    """Sender, round, receiver and bytes of a message by its number."""
    source = bisect_right(simulation.first, message) - 1
    index = message - simulation.first[source]
    for number, work in enumerate(simulation.workload.plans[source]):
        if index < len(work.sends):
            peer, blocks = work.sends[index]
            return source, number, peer, blocks * simulation.nbytes / simulation.workload.blocks
        index -= len(work.sends)
    raise LookupError(f"there is no message {message}")


def _message(
    simulation: Simulation,
    kind: str,
    source: int,
    sent: int,
    peer: int,
    nbytes: float,
    before: tuple[int, int],
    end: float,
) -> Segment:
    rates, nodes = simulation.rates, simulation.nodes
    per = simulation.network.nodes_per_switch
    same_leaf = per is None or nodes[source] // per == nodes[peer] // per
    scope = 0 if nodes[source] == nodes[peer] else 1 if same_leaf else 2
    # A sender that waits for a late receive has had its overhead before.
    ends = (2 if kind == "message" else 1) - (before != (source, sent))
    return Segment(
        kind,
        source,
        sent + 1,
        _start(simulation, *before),
        end,
        peer,
        SCOPES[scope],
        nbytes,
        ends * rates.overhead[scope],
        rates.latency[scope] if kind == "message" else 0.0,
        nbytes * rates.per_byte[scope],
    )


def shares(path: Sequence[Segment]) -> dict[str, float]:
    """Seconds of the path by what they are spent on; their sum is the time of the simulation."""
    total = dict.fromkeys(("overhead", "latency", "transfer", "waiting", "local"), 0.0)
    for segment in path:
        if segment.kind in ("message", "send"):
            for name in ("overhead", "latency", "transfer", "waiting"):
                total[name] += getattr(segment, name)
        else:
            total["local" if segment.kind == "local" else "overhead"] += segment.seconds
    return total
