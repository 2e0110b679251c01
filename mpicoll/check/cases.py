"""Which calls are made: a small covering set by default, a rich one on request."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from mpicoll.analysis.sweep import variants
from mpicoll.check.elements import gapped
from mpicoll.check.forms import FORMS
from mpicoll.check.kinds import Kind, moving_kinds, reducing_kinds
from mpicoll.check.methods import Method
from mpicoll.registry import Algorithm, algorithms_of

__all__ = ["Call", "Variant", "calls_of", "forms_of", "serves", "variants_of"]

LARGE = 10001
ODD = 37


@dataclass(frozen=True)
class Call:
    """One collective call, the same on all ranks.

    `layout` is "plain" (arrays), "view" (from an odd offset on, with explicit counts) or "gaps"
    (derived datatypes). `twice`: made twice in a row, then once more on the same memory, with the
    `delayed` rank late.
    """

    method: Method
    number: int
    kind: Kind | None
    count: int
    root: int
    in_place: bool
    layout: str
    twice: bool
    delayed: int

    def __str__(self) -> str:
        words = [self.method.name]
        if self.method.spec.rooted:
            words.append(f"root {self.root}")
        if self.kind is not None:
            words += [str(self.kind), f"count {self.count}"]
        if self.in_place:
            words.append("in place")
        if self.layout != "plain":
            words.append({"view": "offset view", "gaps": "datatype with gaps"}[self.layout])
        if self.twice:
            words.append(f"twice in a row, rank {self.delayed} late")
        return ", ".join(words)


@dataclass(frozen=True)
class Variant:
    """An algorithm with its parameters; without an algorithm, the automatic choice."""

    collective: str
    algorithm: Algorithm | None
    parameters: tuple[tuple[str, object], ...] = ()

    @property
    def name(self) -> str:
        """The algorithm's name."""
        return self.algorithm.name if self.algorithm else "automatic"

    @cached_property
    def keywords(self) -> dict[str, object]:
        """Keyword arguments of the call."""
        return {"algorithm": self.name, **dict(self.parameters)} if self.algorithm else {}

    def __str__(self) -> str:
        settings = "".join(f", {name} = {value}" for name, value in self.parameters)
        return f"{self.collective} {self.name}{settings}"


def variants_of(collective: str, size: int, name: str | None) -> list[Variant]:
    """The algorithms that serve `size` ranks, each with a few parameters, and the choice."""
    found = [] if name else [Variant(collective, None)]
    for algorithm in algorithms_of(collective):
        if name in (None, algorithm.name) and not set(algorithm.unmet(size)) - {"commutative"}:
            found += [
                Variant(collective, algorithm, tuple(sorted(settings.items())))
                for settings in variants(algorithm, size)
            ]
    return found


def serves(variant: Variant, call: Call, size: int, nodes: tuple[int, ...] | None = None) -> bool:
    """Whether a variant takes part in a call of ranks on these nodes.

    Parameters other than the defaults take part in some of the calls only, not all in the same.
    """
    if variant.parameters and (call.number + len(str(variant))) % 5:
        return False
    if variant.algorithm is None:
        return True
    commutative = call.kind is None or not call.kind.operation or call.kind.operation.commutative
    return not variant.algorithm.unmet(
        size,
        commutative=commutative,
        equal_blocks=call.method.equal_blocks(call, size),
        nodes=dict(variant.parameters).get("nodes", nodes),
    )


def calls_of(method: Method, size: int, full: bool) -> list[Call]:
    """The calls to make on `size` ranks.

    Kinds, counts, roots, in place or not, layouts: each list is gone around at its own pace, so
    that each value comes up, and in a full check nearly all pairs of values.
    """
    counts = list(dict.fromkeys((size + 1, 0, ODD, 1, size - 1, LARGE, size)))
    roots = list(range(size)) if full else list(dict.fromkeys((0, size - 1, size // 2)))
    kinds: list[Kind | None] = [None]
    layouts = ["plain", "plain", "view", *(["gaps"] if full else [])]
    # Where there are more ranks than most machines have cores, every call takes much longer.
    many = size > 4
    passes = (1 if many else 2) if full else 1
    if method.name == "Barrier":
        counts, layouts, passes = [0], ["plain"], max(size, 14)
    elif method.spec.reduces:
        kinds = list(reducing_kinds(full))
    else:
        kinds = list(moving_kinds())
        passes = (4 if many else len(counts)) if full else 1
    calls = []
    for number in range(passes * len(kinds)):
        turn, step = divmod(number, len(kinds))
        around, within = divmod(number, len(counts))
        layout = layouts[(step + turn) % len(layouts)]
        kind = kinds[step]
        if layout == "gaps":
            kind, layout = _with_gaps(kind)
        calls.append(
            Call(
                method,
                number,
                kind,
                counts[(number + turn) % len(counts)],
                roots[(within + around) % len(roots)],
                method.in_place and (around + turn) % 2 == 1,
                layout,
                number % 9 == 4,  # which comes together with each form in turn
                number % size,
            )
        )
    return calls


def _with_gaps(kind: Kind) -> tuple[Kind, str]:
    """The kind on a derived datatype, where that is possible."""
    predefined = kind.operation and not kind.operation.user
    if kind.element.predefined or predefined:
        return kind, "view"
    return Kind(gapped(kind.element), kind.operation), "gaps"


def forms_of(call: Call, full: bool) -> list[str]:
    """Every call is made in the blocking form, and a part of them in each of the others."""
    others = list(FORMS)[1:]
    steps = len(others) if full else 2 * len(others)
    return ["blocking", *(form for i, form in enumerate(others) if call.number % steps == i)]
