"""The registry: one decorator makes a generator function an algorithm.

Adding an algorithm is one function with one decorator. Everything else (listing, proof, check
against native MPI, benchmark, pictures, documentation) finds it here. The registry is the only
global mutable state of the package.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from types import MappingProxyType

from mpicoll.formula import evaluate
from mpicoll.spec import Spec, spec_of
from mpicoll.steps import Chunk, Copy, Plan, Recv, Reduce, Round, Send, Step
from mpicoll.topology import node_groups

__all__ = [
    "Algorithm",
    "RequirementError",
    "algorithm",
    "algorithms_of",
    "collectives",
    "find",
    "plan_from",
]

#: What an algorithm may require, and how the requirement reads in a sentence.
REQUIREMENTS = {
    "power_of_two": "the number of ranks must be a power of two",
    "even_size": "the number of ranks must be even",
    "equal_blocks": "all ranks must have blocks of equal size",
    "equal_nodes": "all nodes must have the same number of ranks",
    "commutative": "the operation must be commutative",
}

#: How operands may be combined.
ORDERS = {
    "rank": "operands are combined in rank order, so any associative operation will do",
    "commutative": "operands are combined in another order than that of the ranks",
    "none": "nothing is combined",
}


class RequirementError(ValueError):
    """An algorithm was asked for whose requirements do not hold for this call."""


@dataclass(frozen=True, eq=False)
class Algorithm:
    """A generator of rounds together with what it claims of itself.

    Every claim is counted by `mpicoll prove`: `rounds` (communicating rounds of the busiest rank),
    `volume` (bytes sent by the busiest rank), `reduced` (bytes combined by the busiest rank),
    `order` and `requires`. Formulas are those of `mpicoll.formula`; `blocks` is how many blocks the
    buffers are cut into.
    """

    collective: str
    name: str
    generate: Callable[..., Iterator]
    rounds: str
    volume: str
    reduced: str
    order: str
    blocks: str
    requires: tuple[str, ...] = ()
    cites: str = ""
    aka: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def spec(self) -> Spec:
        """The statement of the collective that this algorithm performs."""
        return spec_of(self.collective)

    @cached_property
    def parameters(self) -> Mapping[str, object]:
        """Names and defaults of the algorithm's own parameters (root is not one of them)."""
        signature = inspect.signature(self.generate).parameters.values()
        return MappingProxyType(
            {p.name: p.default for p in signature if p.kind is p.KEYWORD_ONLY and p.name != "root"}
        )

    @property
    def summary(self) -> str:
        """The first sentence of the docstring."""
        return inspect.cleandoc(self.generate.__doc__ or "").split("\n\n")[0].replace("\n", " ")

    @property
    def source(self) -> str:
        """The text of the algorithm."""
        return inspect.getsource(self.generate)

    def settings(self, parameters: Mapping[str, object]) -> dict[str, object]:
        """The given parameters over the defaults; unknown or ill-typed ones are errors."""
        unknown = set(parameters) - set(self.parameters)
        if unknown:
            known = ", ".join(self.parameters) or "none"
            raise TypeError(
                f"{self} has no parameter {', '.join(sorted(unknown))!r}; it has: {known}"
            )
        for name, value in parameters.items():
            least = 2 if name == "radix" else 1
            if isinstance(self.parameters[name], int) and (
                not isinstance(value, int) or value < least
            ):
                raise ValueError(
                    f"{self}: {name} must be an integer from {least} on, not {value!r}"
                )
        return {**self.parameters, **parameters}

    def number_of_blocks(self, size: int, parameters: Mapping[str, object]) -> int:
        """How many blocks the buffers have for `size` ranks."""
        return int(self._value(self.blocks, size, self.settings(parameters)))

    def claims(
        self, size: int, parameters: Mapping[str, object], root: int = 0
    ) -> tuple[int, Fraction, Fraction]:
        """The declared rounds, and bytes sent and combined by the busiest rank as parts of m."""
        if size == 1:
            return 0, Fraction(0), Fraction(0)
        settings = {**self.settings(parameters), "root": root}
        rounds, volume, reduced = (
            self._value(formula, size, settings)
            for formula in (self.rounds, self.volume, self.reduced)
        )
        return int(rounds), volume, reduced

    def _value(self, formula: str, size: int, settings: Mapping[str, object]) -> Fraction:
        symbols: dict[str, object] = {k: v for k, v in settings.items() if isinstance(v, int)}
        if "nodes" in settings:
            symbols |= _layout_symbols(settings["nodes"], size, settings.get("root", 0))
        return evaluate(formula, size, **symbols)

    def unmet(
        self,
        size: int,
        *,
        commutative: bool = True,
        equal_blocks: bool = True,
        nodes: Sequence[int] | None = None,
    ) -> list[str]:
        """The requirements that do not hold, by name; `nodes` is the node number of each rank."""
        holds = {
            "power_of_two": size & (size - 1) == 0,
            "even_size": size % 2 == 0 or size == 1,
            "equal_blocks": equal_blocks,
            # Only where it counts: looking at all ranks for each rank's plan takes P * P.
            "equal_nodes": "equal_nodes" not in self.requires
            or len(set(map(len, node_groups(nodes, size)))) == 1,
            "commutative": commutative,
        }
        required = self.requires + (("commutative",) if self.order == "commutative" else ())
        return [name for name in required if not holds[name]]

    def require(
        self,
        size: int,
        *,
        commutative: bool = True,
        equal_blocks: bool = True,
        nodes: Sequence[int] | None = None,
    ) -> None:
        """Raise RequirementError, naming what does not hold, if the algorithm cannot serve."""
        unmet = self.unmet(size, commutative=commutative, equal_blocks=equal_blocks, nodes=nodes)
        if unmet:
            reasons = "; ".join(f"{REQUIREMENTS[name]} ({name})" for name in unmet)
            others = [
                a.name
                for a in algorithms_of(self.collective)
                if not a.unmet(size, commutative=commutative, equal_blocks=equal_blocks)
            ]
            raise RequirementError(
                f"{self} cannot be used here on {size} ranks: {reasons}. "
                f"These can: {', '.join(others) or 'none'}"
            )

    def plan(self, rank: int, size: int, root: int = 0, **parameters: object) -> Plan:
        """All rounds of one rank, cached.

        `root` counts only in collectives that have one; `parameters` are the algorithm's own.
        Raises ValueError if rank, size or root cannot be, RequirementError if `size` is not
        served.
        """
        settings = self._checked(rank, size, root, parameters)
        return _plan(
            self, rank, size, root if self.spec.rooted else 0, tuple(sorted(settings.items()))
        )

    def stream(self, rank: int, size: int, root: int = 0, **parameters: object) -> Iterator[Round]:
        """The rounds of one rank one by one, for those who look at many long plans once.

        As `plan`, but nothing is cached, and a chunk of all blocks still has ``blocks=None``.
        """
        keywords = self._checked(rank, size, root, parameters)
        if self.spec.rooted:
            keywords["root"] = root
        for steps in self.generate(rank, size, **keywords):
            if isinstance(steps, (Send, Recv, Copy, Reduce)):
                yield (steps,)
            elif steps := tuple(steps):
                yield steps

    def _checked(
        self, rank: int, size: int, root: int, parameters: Mapping[str, object]
    ) -> dict[str, object]:
        """The settings of a plan, if there can be one."""
        if not 0 <= rank < size:
            raise ValueError(f"rank must be in 0..{size - 1}, not {rank}")
        if not 0 <= root < size:
            raise ValueError(f"root must be in 0..{size - 1}, not {root}")
        settings = self.settings(parameters)
        nodes = settings.get("nodes")
        if nodes is not None and len(nodes) != size:
            raise ValueError(f"{self}: nodes names the node of each of {size} ranks, not {nodes!r}")
        self.require(size, nodes=nodes)
        return settings

    def __call__(self, rank: int, size: int, **keywords: object) -> Iterator:
        """The rounds, for use by another algorithm: ``yield from ring(rank, size)``."""
        return self.generate(rank, size, **keywords)

    def __str__(self) -> str:
        return f"{self.collective} {self.name}"


def _layout_symbols(nodes: Sequence[int] | None, size: int, root: int) -> dict[str, object]:
    groups = node_groups(nodes, size)
    first = next(n for n, members in enumerate(groups) if root in members)
    counts = [len(members) for members in groups[first:] + groups[:first]]
    return {
        "N": len(counts),
        "L": max(counts),
        "ranks": lambda node: counts[int(node) % len(counts)],
    }


@lru_cache(maxsize=4096)
def _plan(
    algorithm: Algorithm, rank: int, size: int, root: int, settings: tuple[tuple[str, object], ...]
) -> Plan:
    keywords = dict(settings)
    blocks = algorithm.number_of_blocks(size, keywords)
    if algorithm.spec.rooted:
        keywords["root"] = root
    return plan_from(algorithm.generate(rank, size, **keywords), blocks)


def plan_from(rounds: Iterable[Step | Iterable[Step]], blocks: int) -> Plan:
    """What a generator of rounds yields, as a plan for buffers of that many blocks."""
    return tuple(filter(None, (_normal(steps, blocks) for steps in rounds)))


def _normal(steps: Step | Iterable[Step], blocks: int) -> Round:
    """A round as a tuple of steps, with every [:] spelled out."""
    if isinstance(steps, (Send, Recv, Copy, Reduce)):
        steps = (steps,)
    return tuple([_spelled(step, blocks) for step in steps])


def _spelled(step: Step, blocks: int) -> Step:
    if not isinstance(step, (Send, Recv, Copy, Reduce)):
        raise TypeError(f"an algorithm yields steps or tuples of steps, not {step!r}")
    if all(type(part) is not Chunk or part.blocks is not None for part in step):
        return step
    return type(step)(*(_whole(part, blocks) for part in step))


def _whole(part: int | Chunk, blocks: int) -> int | Chunk:
    if isinstance(part, Chunk) and part.blocks is None:
        return Chunk(part.buffer, tuple(range(blocks)))
    return part


_ALGORITHMS: dict[str, dict[str, Algorithm]] = {}


def algorithm(
    collective: str,
    *,
    rounds: str,
    volume: str,
    reduced: str = "0",
    order: str = "none",
    blocks: str = "P",
    requires: tuple[str, ...] = (),
    cites: str = "",
    aka: Mapping[str, str] | None = None,
) -> Callable[[Callable[..., Iterator]], Algorithm]:
    """Register the decorated generator as an algorithm of `collective`, under its own name.

    See `Algorithm` for what the declarations mean. ValueError if one of them makes no sense, or if
    the name is taken.
    """
    spec = spec_of(collective)
    if order not in ORDERS or (order == "none") == spec.reduces:
        raise ValueError(f"order {order!r} makes no sense for {collective}: {', '.join(ORDERS)}")
    for name in requires:
        if name not in REQUIREMENTS:
            raise ValueError(f"unknown requirement {name!r}: {', '.join(REQUIREMENTS)}")

    def register(generate: Callable[..., Iterator]) -> Algorithm:
        family = _ALGORITHMS.setdefault(collective, {})
        name = generate.__name__
        if name in family:
            raise ValueError(f"{collective} has an algorithm {name!r} already")
        family[name] = Algorithm(
            collective,
            name,
            generate,
            rounds,
            volume,
            reduced,
            order,
            blocks,
            requires,
            cites,
            MappingProxyType(dict(aka or {})),
        )
        return family[name]

    return register


def _load() -> None:
    import mpicoll.algorithms  # noqa: F401  (its modules register themselves)


def collectives() -> list[str]:
    """The collectives that have algorithms."""
    _load()
    return sorted(_ALGORITHMS)


def algorithms_of(collective: str) -> list[Algorithm]:
    """The algorithms of a collective, in the order of their definition."""
    _load()
    spec_of(collective)
    return list(_ALGORITHMS.get(collective, {}).values())


def find(collective: str, name: str) -> Algorithm:
    """The algorithm of that name; ValueError names the known ones."""
    for candidate in algorithms_of(collective):
        if candidate.name == name:
            return candidate
    known = ", ".join(a.name for a in algorithms_of(collective))
    raise ValueError(f"{collective} has no algorithm {name!r}; it has: {known}")


def forget(collective: str, name: str) -> None:
    """Take an algorithm out again (for tests and notebooks that add one for a while)."""
    del _ALGORITHMS[collective][name]
