"""What an algorithm costs: as declared, as counted from its plans, and at least.

Costs are those of the busiest rank: rounds, bytes sent, bytes combined. In the alpha-beta-gamma
model they take ``alpha rounds + beta sent + gamma combined`` seconds, alpha being a message's
latency and overheads, beta a byte's time on the link, gamma that of its combination.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from mpicoll.analysis.bounds import BOUNDS
from mpicoll.analysis.network import Network
from mpicoll.analysis.path import closed_form
from mpicoll.analysis.workload import Counts, read
from mpicoll.registry import Algorithm

__all__ = ["Cost", "Model", "Totals", "cost"]


class Totals(NamedTuple):
    """Rounds, and bytes sent and combined as parts of m."""

    rounds: int
    sent: float
    combined: float


class Model(NamedTuple):
    """Seconds per round, per byte sent, per byte combined."""

    alpha: float
    beta: float
    gamma: float

    @classmethod
    def of(cls, network: Network, size: int) -> Model:
        """The model of a network, at the slowest level that this many ranks need."""
        level = network.level(size)
        slow = network.slowdown(min(size, network.ranks_per_node or size))
        rate = level.per_byte * (slow if level is network.intra else 1)
        return cls(level.latency + 2 * slow * level.overhead, rate, slow * network.reduce)

    def seconds(self, totals: Totals, nbytes: int) -> float:
        """The time of a rank that does all this."""
        moved = self.beta * totals.sent + self.gamma * totals.combined
        return self.alpha * totals.rounds + nbytes * moved


@dataclass(frozen=True)
class Cost:
    """The cost of an algorithm for `size` ranks and `nbytes` bytes, m.

    `declared` is from its formulas, `counted` from its plans (None if they were not read), `least`
    the lower bound of the collective. `seconds` is the time of the busiest rank as declared,
    `path_seconds` that of the longest chain of messages, which is longer where ranks wait for each
    other in turn, `least_seconds` that of the lower bound.
    """

    algorithm: Algorithm
    size: int
    nbytes: int
    declared: Totals
    counted: Totals | None
    messages: int | None
    least: Totals
    seconds: float
    path_seconds: float
    least_seconds: float

    @property
    def agrees(self) -> bool:
        """False if counting finds other numbers than are declared."""
        if self.counted is None:
            return True
        pairs = zip(self.declared, self.counted, strict=True)
        return all(abs(a - b) <= 1e-9 * max(1, abs(a)) for a, b in pairs)

    @property
    def ratios(self) -> Totals:
        """Declared cost over lower bound; where the bound is 0, None."""
        pairs = zip(self.declared, self.least, strict=True)
        return Totals(*(float(a) / float(b) if b else None for a, b in pairs))

    def as_json(self) -> dict[str, object]:
        """All numbers, by name."""
        totals = {
            name: found._asdict() if found is not None else None
            for name, found in (
                ("declared", self.declared),
                ("counted", self.counted),
                ("least", self.least),
                ("ratios", self.ratios),
            )
        }
        return {
            "collective": self.algorithm.collective,
            "algorithm": self.algorithm.name,
            "formulas": {
                "rounds": self.algorithm.rounds,
                "sent": self.algorithm.volume,
                "combined": self.algorithm.reduced,
            },
            **totals,
            "agrees": self.agrees,
            "messages": self.messages,
            "seconds": self.seconds,
            "path_seconds": self.path_seconds,
            "least_seconds": self.least_seconds,
        }


def cost(
    algorithm: Algorithm,
    size: int,
    nbytes: int,
    network: Network,
    *,
    root: int = 0,
    parameters: Mapping[str, object] | None = None,
    count: bool = True,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Cost:
    """The cost of an algorithm; without `count` its plans are not read, whatever the size."""
    parameters = dict(parameters or {})
    rounds, volume, reduced = algorithm.claims(size, parameters, root)
    declared = Totals(rounds, float(volume), float(reduced))
    counted, messages = None, None
    if count:
        counts: Counts = read(algorithm, size, root, parameters, progress=progress).counts()
        counted = Totals(counts.rounds, counts.sent, counts.reduced)
        messages = counts.messages
    bound = BOUNDS[algorithm.collective]
    least_rounds, least_volume = bound.values(size)
    least = Totals(least_rounds, float(least_volume), float(bound.combined(size)))
    model = Model.of(network, size)
    return Cost(
        algorithm,
        size,
        nbytes,
        declared,
        counted,
        messages,
        least,
        model.seconds(declared, nbytes),
        closed_form(algorithm, size, nbytes, network, root=root, **parameters),
        model.seconds(least, nbytes),
    )
