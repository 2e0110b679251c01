"""The catalogue of algorithms, from the registry: rows for `mpicoll list`, text for the docs."""

from __future__ import annotations

from functools import cache

from mpicoll.analysis.bounds import BOUNDS
from mpicoll.analysis.symbolic import prove
from mpicoll.registry import ORDERS, REQUIREMENTS, Algorithm, algorithms_of, collectives
from mpicoll.show.text import story
from mpicoll.spec import spec_of

__all__ = ["DETERMINISM", "determinism", "markdown", "row"]

#: How far a floating-point result is the same, as found by proof.
DETERMINISM = {
    "everywhere": "the same bits on all ranks, whatever the place of a number in the vector",
    "ranks": "the same bits on all ranks; operands are grouped as the block of the number has them",
    "run": "the same bits in every run; ranks may differ in the last ones",
    "exact": "nothing is combined",
}

#: Process counts at which the determinism is found out.
SAMPLE = (2, 3, 4, 6, 7, 8, 9)


@cache
def determinism(algorithm: Algorithm) -> str:
    """Which of `DETERMINISM` holds."""
    if not algorithm.spec.reduces:
        return "exact"
    proofs = [
        prove(algorithm, size) for size in SAMPLE if set(algorithm.unmet(size)) <= {"commutative"}
    ]
    if not all(proof.same_bits for proof in proofs):
        return "run"
    return "everywhere" if all(proof.same_blocks for proof in proofs) else "ranks"


def row(algorithm: Algorithm, size: int | None = None) -> dict[str, object]:
    """Everything that is known of an algorithm; with `size`, also numbers for that many ranks."""
    bound = BOUNDS[algorithm.collective]
    found: dict[str, object] = {
        "collective": algorithm.collective,
        "algorithm": algorithm.name,
        "summary": algorithm.summary,
        "rounds": algorithm.rounds,
        "volume": algorithm.volume,
        "reduced": algorithm.reduced,
        "order": algorithm.order,
        "determinism": determinism(algorithm),
        "requires": list(algorithm.requires),
        "parameters": dict(algorithm.parameters),
        "aka": dict(algorithm.aka),
        "cites": algorithm.cites,
        "bound_rounds": bound.rounds,
        "bound_volume": bound.volume,
    }
    if size is not None and set(algorithm.unmet(size)) <= {"commutative"}:
        rounds, volume, reduced = algorithm.claims(size, {})
        least_rounds, least_volume = bound.values(size)
        found["at"] = {
            "size": size,
            "rounds": rounds,
            "volume": float(volume),
            "reduced": float(reduced),
            "rounds_ratio": rounds / least_rounds if least_rounds else None,
            "volume_ratio": float(volume / least_volume) if least_volume else None,
        }
    return found


def markdown() -> str:
    """The page docs/algorithms.md."""
    total = sum(len(algorithms_of(name)) for name in collectives())
    kinds = "; ".join(f"*{name}*: {text}" for name, text in DETERMINISM.items())
    lines = [
        "# The algorithms",
        "",
        "<!-- Generated from the registry by `mpicoll list --markdown`; do not edit. -->",
        "",
        f"{total} algorithms. P ranks; m bytes of the whole vector, or of all blocks;",
        "q = ceil(log2 P); f = floor(log2 P); C = 2^f; r = P - C. Rounds, bytes sent and bytes",
        "combined are those of the busiest rank, for every P as declared and counted by",
        "`mpicoll prove`.",
        "",
        f"Order: *rank*: {ORDERS['rank']}; *commutative*: {ORDERS['commutative']}.",
        "",
        f"Bits of floating-point results: {kinds}.",
    ]
    for name in collectives():
        lines += ["", *_section(name)]
    return "\n".join(lines) + "\n"


def _section(name: str) -> list[str]:
    bound, meaning = BOUNDS[name], spec_of(name).meaning
    lines = [
        f"## {name}",
        "",
        f"{meaning[0].upper()}{meaning[1:]}. With one message each way in a round, no algorithm",
        f"needs fewer than `{bound.rounds}` rounds; none sends less than `{bound.volume}` from its",
        f"busiest rank: {bound.because}.",
        "",
        "| algorithm | rounds | sent | combined | order | bits | requires |",
        "|---|---|---|---|---|---|---|",
    ]
    for algorithm in algorithms_of(name):
        requires = ", ".join(algorithm.requires) or "-"
        lines.append(
            f"| [{algorithm.name}](#{name}-{algorithm.name}) | `{algorithm.rounds}` "
            f"| `{algorithm.volume}` | `{algorithm.reduced}` | {algorithm.order} "
            f"| {determinism(algorithm)} | {requires} |"
        )
    for algorithm in algorithms_of(name):
        lines += ["", *_entry(algorithm)]
    return lines


def _entry(algorithm: Algorithm) -> list[str]:
    lines = [f"### {algorithm.collective} {algorithm.name}", ""]
    lines += [line.strip() for line in (algorithm.generate.__doc__ or "").strip().splitlines()]
    facts = []
    if algorithm.parameters:
        facts.append(
            "Parameters: " + ", ".join(f"`{k}={v}`" for k, v in algorithm.parameters.items())
        )
    facts += [f"Requires: {REQUIREMENTS[name]}" for name in algorithm.requires]
    if algorithm.aka:
        facts.append("Elsewhere: " + ", ".join(f"{k} `{v}`" for k, v in algorithm.aka.items()))
    if algorithm.cites:
        facts.append(f"Reference: {algorithm.cites}")
    lines += ["", *(f"- {fact}" for fact in facts)] if facts else []
    size = 4
    small = {name: 2 for name, value in algorithm.parameters.items() if isinstance(value, int)}
    table = story(algorithm, size, 0, **small).splitlines()
    return [*lines, "", "```", *table, "```"]
