"""The symbolic proof: all plans of one algorithm run together, on names instead of numbers.

Blocks hold `(piece, contributors)`, so a result that is right is right for every data type, every
operation and every count. Nothing here needs MPI or memory for data.

>>> from mpicoll.registry import find
>>> proof = prove(find("allreduce", "ring"), 4)
>>> proof.ok, proof.rounds, proof.volume, proof.order
(True, 6, Fraction(3, 2), 'commutative')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from mpicoll.analysis.findings import Finding
from mpicoll.analysis.judge import (
    count,
    judge_barrier,
    judge_claims,
    judge_results,
    judge_stuck,
    unmatched,
)
from mpicoll.analysis.lowering import FATAL, Geometry, lower
from mpicoll.analysis.rendezvous import Rendezvous, Value
from mpicoll.registry import Algorithm
from mpicoll.steps import Plan

__all__ = ["Proof", "Trace", "has_in_place", "prove", "trace"]

#: The values of every step: (rank, round, number of the step in the round) -> one per block.
Trace = dict[tuple[int, int, int], tuple[Value, ...]]

#: How many findings of one proof are kept: what follows them is rarely news.
LIMIT = 20


@dataclass
class Proof:
    """What is known about one algorithm on one number of ranks.

    `rounds`, `volume` (sent) and `reduced` are those of the busiest rank, bytes as parts of m;
    `depth` is the number of rounds on the longest chain of ranks that wait for each other; `order`
    is how operands were combined; `same_bits` tells if all ranks compute the same expression, up
    to exchanging operands, and `same_blocks` if all blocks are computed by the same expression.
    """

    algorithm: Algorithm
    size: int
    root: int
    in_place: bool
    parameters: Mapping[str, object]
    rounds: int = 0
    volume: Fraction = Fraction(0)
    reduced: Fraction = Fraction(0)
    messages: int = 0
    depth: int = 0
    order: str = "none"
    same_bits: bool = True
    same_blocks: bool = True
    findings: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """True if nothing is wrong."""
        return not self.findings

    @property
    def kinds(self) -> list[str]:
        """The kinds of the findings, in the order in which they were found."""
        return list(dict.fromkeys(finding.kind for finding in self.findings))

    @property
    def title(self) -> str:
        """Algorithm, size, root, mode and parameters as text."""
        parts = [f"{self.algorithm}, P = {self.size}"]
        if self.algorithm.spec.rooted:
            parts.append(f"root {self.root}")
        parts += [f"{name} = {value}" for name, value in self.parameters.items()]
        if self.in_place:
            parts.append("in place")
        return ", ".join(parts)

    def explain(self, findings: int = 1) -> str:
        """The title and the first findings as text."""
        if self.ok:
            return f"{self.title}: proved"
        shown = [str(finding) for finding in self.findings[:findings]]
        more = len(self.findings) - len(shown)
        if more:
            shown.append(f"and {more} more")
        return "\n".join([f"{self.title}: FAILED", *shown])


def has_in_place(algorithm: Algorithm, size: int, root: int = 0) -> bool:
    """True if an in-place call differs from one that is not (see `mpicoll.spec`)."""
    spec = algorithm.spec
    return any(len(spec.shared(rank, size, root, size)) for rank in range(size))


def prove(
    algorithm: Algorithm,
    size: int,
    *,
    root: int = 0,
    in_place: bool = False,
    **parameters: object,
) -> Proof:
    """Run the plans of all ranks together and judge everything that can be judged.

    RequirementError if the algorithm does not serve `size`; every other fault is a finding.
    """
    return _prove(algorithm, size, root, in_place, parameters, None)


def trace(
    algorithm: Algorithm, size: int, *, root: int = 0, **parameters: object
) -> tuple[Proof, Trace]:
    """A proof together with the values of every step, for those who show what happens."""
    values: Trace = {}
    return _prove(algorithm, size, root, False, parameters, values), values


def _prove(
    algorithm: Algorithm,
    size: int,
    root: int,
    in_place: bool,
    parameters: Mapping[str, object],
    values: Trace | None,
) -> Proof:
    settings = algorithm.settings(parameters)
    proof = Proof(algorithm, size, root, in_place, settings)

    def report(finding: Finding) -> None:
        if len(proof.findings) < LIMIT:
            proof.findings.append(finding)

    plans = _plans(algorithm, size, root, parameters, report)
    if proof.findings:
        return proof
    spec, equal_blocks = algorithm.spec, "equal_blocks" in algorithm.requires
    blocks = algorithm.number_of_blocks(size, parameters)
    geometry = [Geometry(spec, rank, size, root, blocks, in_place) for rank in range(size)]
    postings = [
        lower(plan, here, equal_blocks, report) for plan, here in zip(plans, geometry, strict=True)
    ]
    if FATAL.intersection(proof.kinds):
        return proof
    unmatched(plans, report)
    world = Rendezvous(geometry, plans, postings, equal_blocks, report, values)
    stuck = world.run()
    proof.messages, proof.depth = world.messages, max(world.clock)
    if stuck:
        judge_stuck(world, stuck, report)
        return proof
    order = judge_results(world, report)
    if spec.name == "barrier":
        judge_barrier(world, report)
    if spec.reduces:
        proof.order = order
        proof.same_bits, proof.same_blocks = _determinism(world)
    proof.rounds, proof.volume, proof.reduced, _ = count(plans, blocks)
    counted = (proof.rounds, proof.volume, proof.reduced)
    judge_claims(algorithm, size, root, parameters, counted, order, report)
    return proof


def _plans(
    algorithm: Algorithm,
    size: int,
    root: int,
    parameters: Mapping[str, object],
    report,
) -> Sequence[Plan]:
    algorithm.require(size, nodes=algorithm.settings(parameters).get("nodes"))
    plans = []
    for rank in range(size):
        try:
            plans.append(algorithm.plan(rank, size, root, **parameters))
        except Exception as error:  # whatever a generator raises is its fault, and is named
            text = f"{type(error).__name__}: {error}"
            report(Finding("generator raised", f"rank {rank}'s rounds fail: {text}", rank))
            break
    return plans


def _determinism(world: Rendezvous) -> tuple[bool, bool]:
    """Whether all ranks, and whether all blocks, get their result from the same expression."""
    by_rank: dict[tuple, set[int]] = {}
    shapes = set()
    for here, memory in zip(world.geometry, world.memory, strict=True):
        for slot, piece in here.after.items():
            value = memory.get(here.alias.get(slot, slot))
            if value is not None:
                by_rank.setdefault((slot, piece.ranks), set()).add(value[2])
                shapes.add((piece.ranks, value[2]))
    same_bits = all(len(found) == 1 for found in by_rank.values())
    return same_bits, len(shapes) == len({ranks for ranks, _ in shapes})
