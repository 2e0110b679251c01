"""Proofs of one algorithm for many sizes, roots, modes and parameters, taken together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from mpicoll.analysis.findings import Finding
from mpicoll.analysis.symbolic import Proof, has_in_place, prove
from mpicoll.registry import REQUIREMENTS, Algorithm

__all__ = ["Summary", "cases", "roots", "sweep", "variants"]

#: Every root and parameter is tried up to this many ranks, a sample beyond.
ALL_ROOTS = 17

#: Values that are tried for the parameters of these names.
VALUES = {
    "radix": (2, 3, 4, 5),
    "segments": (1, 2, 3, 6),
    "window": (1, 2, 3, 8),
    "aggregate": (1, 2, 3, 4),
}

#: Sizes that show whether a requirement is needed.
SMALL = range(2, 10)


def roots(algorithm: Algorithm, size: int) -> Iterable[int]:
    """The roots to try."""
    if not algorithm.spec.rooted:
        return (0,)
    if size <= ALL_ROOTS:
        return range(size)
    return (0, 1, size // 2, size - 1)


def variants(algorithm: Algorithm, size: int) -> list[dict[str, object]]:
    """The parameters to try: the defaults, then other values, one parameter at a time.

    Many ranks take one of these values only, in turn from size to size.
    """
    found: list[dict[str, object]] = [{}]
    for name, default in algorithm.parameters.items():
        if name == "nodes":
            values: Iterable[object] = [
                nodes
                for nodes in _layouts(size)
                if "equal_nodes" not in algorithm.unmet(size, nodes=nodes)
            ]
        elif isinstance(default, int):
            values = VALUES.get(name, (default + 1,))
        else:
            continue
        others = [{name: value} for value in values if value != default]
        found += others if size <= ALL_ROOTS else [others[size % len(others)]]
    return found


def _layouts(size: int) -> list[tuple[int, ...]]:
    """Node numbers of the ranks: nodes of 2 and 3, unequal nodes, dealt out in turn, one of all."""
    layouts = (
        tuple(rank // 2 for rank in range(size)),
        tuple(rank // 3 for rank in range(size)),
        tuple(0 if rank < size // 4 else 1 for rank in range(size)),
        tuple(rank % 3 for rank in range(size)),
        (0,) * size,
    )
    return list(dict.fromkeys(layouts))


def cases(algorithm: Algorithm, sizes: Iterable[int]) -> Iterator[dict[str, object]]:
    """The keywords of all proofs of an algorithm, for the sizes that it serves."""
    for size in sizes:
        if set(algorithm.unmet(size)) - {"commutative"}:
            continue
        for parameters in variants(algorithm, size):
            for root in roots(algorithm, size):
                for in_place in (False, True):
                    if not in_place or has_in_place(algorithm, size, root):
                        yield {"size": size, "root": root, "in_place": in_place, **parameters}


@dataclass
class Summary:
    """What all proofs of one algorithm say together."""

    algorithm: Algorithm
    proofs: int = 0
    messages: int = 0
    seconds: float = 0.0
    failed: int = 0
    sizes: list[int] = field(default_factory=list)
    bad_sizes: set[int] = field(default_factory=set)
    first_failure: Proof | None = None
    findings: list[Finding] = field(default_factory=list)
    orders: set[str] = field(default_factory=set)
    same_bits: bool = True
    same_blocks: bool = True

    @property
    def ok(self) -> bool:
        """True if nothing is wrong."""
        return not self.failed and not self.findings

    def add(self, proof: Proof) -> None:
        """Count a proof in."""
        self.proofs += 1
        self.messages += proof.messages
        self.orders.add(proof.order)
        self.same_bits &= proof.same_bits
        self.same_blocks &= proof.same_blocks
        if self.sizes[-1:] != [proof.size]:
            self.sizes.append(proof.size)
        if not proof.ok:
            self.failed += 1
            self.bad_sizes.add(proof.size)
            self.first_failure = self.first_failure or proof

    @property
    def hint(self) -> str:
        """If only a requirement is missing, that requirement."""
        good = set(self.sizes) - self.bad_sizes
        for name, holds in (("power_of_two", _power_of_two), ("even_size", _even)):
            divided = good and self.bad_sizes and name not in self.algorithm.requires
            if divided and all(map(holds, good)) and not any(map(holds, self.bad_sizes)):
                return f"it fails exactly where requires=({name!r},) does not hold"
        return ""

    def explain(self) -> str:
        """The first failure and what is said by all proofs together."""
        parts = [self.first_failure.explain()] if self.first_failure else []
        parts += [str(finding) for finding in self.findings]
        return "\n".join(filter(None, [*parts, self.hint]))


def _power_of_two(size: int) -> bool:
    return size & (size - 1) == 0


def _even(size: int) -> bool:
    return size % 2 == 0 or size == 1


def sweep(
    algorithm: Algorithm,
    sizes: Iterable[int],
    progress: Callable[[Summary, Proof], None] = lambda summary, proof: None,
) -> Summary:
    """Prove an algorithm for all `cases`; `progress` is told of every proof."""
    started = time.perf_counter()
    summary = Summary(algorithm)
    for keywords in cases(algorithm, sizes):
        proof = prove(algorithm, **keywords)
        summary.add(proof)
        progress(summary, proof)
    if summary.ok and len(summary.sizes) > 2:
        summary.findings += _too_modest(summary)
    summary.seconds = time.perf_counter() - started
    return summary


def _too_modest(summary: Summary) -> list[Finding]:
    """Declarations that ask the caller for more than the algorithm needs."""
    algorithm = summary.algorithm
    found = []
    if algorithm.order == "commutative" and "commutative" not in summary.orders:
        found.append(
            Finding(
                "false declaration",
                f"{algorithm} declares order='commutative'",
                expected="an order that needs commutative operations at some size",
                got="rank order in every proof",
            )
        )
    for name in algorithm.requires:
        rest = tuple(other for other in algorithm.requires if other != name)
        freed = replace(algorithm, requires=rest)
        tried = [size for size in SMALL if freed.unmet(size) in ([], ["commutative"])]
        if name != "equal_blocks":
            tried = [size for size in tried if name in algorithm.unmet(size)]
        if tried and all(prove(freed, **keywords).ok for keywords in cases(freed, tried)):
            found.append(
                Finding(
                    "false declaration",
                    f"{algorithm} requires {name} ({REQUIREMENTS[name]})",
                    expected="a fault where that does not hold",
                    got=f"proofs without it for P = {', '.join(map(str, tried))}",
                )
            )
    return found
