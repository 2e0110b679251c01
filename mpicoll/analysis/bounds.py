"""What no algorithm can do better: the fewest rounds and the least traffic of each collective.

Rounds: a rank takes part in one message each way at a time, so what one rank knows can be known by
2, 4, 8, ... ranks. Algorithms that post several messages in a round are below that. Traffic: bytes
that the busiest rank must send, as it has to hand them out or the others cannot get them elsewhere.
Combining: each result of P operands takes P - 1 operations, at best spread evenly over P ranks.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from mpicoll.formula import evaluate

__all__ = ["BOUNDS", "Bound"]


@dataclass(frozen=True)
class Bound:
    """Formulas of the bounds, why the traffic cannot be less, and who says so."""

    rounds: str
    volume: str
    because: str
    reduced: str = "0"
    cites: str = ""

    def values(self, size: int) -> tuple[int, Fraction]:
        """Rounds and volume for `size` ranks."""
        if size == 1:
            return 0, Fraction(0)
        return int(evaluate(self.rounds, size)), evaluate(self.volume, size)

    def combined(self, size: int) -> Fraction:
        """Bytes that the busiest rank must combine, as a part of m."""
        return evaluate(self.reduced, size) if size > 1 else Fraction(0)


_CHAN = "Chan, Heimlich, Purkayastha & van de Geijn 2007"

BOUNDS: dict[str, Bound] = {
    "barrier": Bound("q", "0", "messages carry no content", cites="Hensgen, Finkel & Manber 1988"),
    "bcast": Bound("q", "m", "the root has to send its vector", cites=_CHAN),
    "reduce": Bound("q", "m", "what a rank contributes has to leave it", "m(P-1)/P", _CHAN),
    "allreduce": Bound(
        "q",
        "2m(P-1)/P",
        "each block has to be combined and then handed out",
        "m(P-1)/P",
        "Patarasuk & Yuan 2009",
    ),
    "scatter": Bound("q", "m(P-1)/P", "the root has to send all blocks but its own", cites=_CHAN),
    "gather": Bound("q", "m/P", "a rank has to send its block", cites=_CHAN),
    "allgather": Bound(
        "q",
        "m(P-1)/P",
        "every rank receives all blocks but its own",
        cites="Bruck et al. 1997",
    ),
    "reduce_scatter": Bound(
        "q",
        "m(P-1)/P",
        "a rank's part of the others' blocks has to leave it",
        "m(P-1)/P",
        _CHAN,
    ),
    "alltoall": Bound(
        "q",
        "m(P-1)/P",
        "a rank has to send all blocks but its own",
        cites="Bruck et al. 1997",
    ),
    "scan": Bound("q", "m", "what a rank contributes has to leave it", "m(P-1)/P"),
    "exscan": Bound("q", "m", "what a rank contributes has to leave it", "m(P-2)/P"),
}
