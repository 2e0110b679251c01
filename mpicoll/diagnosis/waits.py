"""Why ranks do not go on: from what every rank is doing to sentences. No MPI is needed.

`explain` takes a `RankState` for every rank of the job, as `mpicoll.diagnosis.states` defines it,
and gives a `Report`::

    states = [
        RankState(0, "blocked", call="Recv", waits=(Message("recv", peer=1, tag=7),)),
        RankState(1, "blocked", call="Recv", waits=(Message("recv", peer=0, tag=7),)),
    ]
    print(explain(states).text())

A rank that waits can go on if what it waits for has its other end, or may still come: from a rank
that is not inside MPI, or from one that can go on itself. All others never will; they are the
`stuck` ones, and each of them is in a circle of ranks that wait for each other, or waits for one
that has ended, or for such ranks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from mpicoll.diagnosis.circles import circles
from mpicoll.diagnosis.matching import Matching, differences, match
from mpicoll.diagnosis.mismatch import Disagreement, disagreements, missing
from mpicoll.diagnosis.states import Collective, Message, Place, RankState
from mpicoll.launch.stacks import ranks_text

__all__ = ["Collective", "Finding", "Message", "Place", "RankState", "Report", "explain"]

LONGEST_CIRCLE = 8  # that is told rank by rank
ENDED = {
    "finished": "has finished its program",
    "failed": "has failed",
    "absent": "was never started",
}


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    `kind` is "collectives" (calls that do not match), "missing" (ranks that have not come to a
    collective), "circle", "ended" (waiting for a rank that has), "message" (a send and a receive
    that do not meet, or a send without a receive), or "outside" (a rank that others wait for is not
    inside MPI).
    """

    kind: str
    ranks: tuple[int, ...]
    text: str


@dataclass(frozen=True)
class Report:
    """What `explain` found: the causes first. `stuck` are the ranks that will never go on."""

    findings: list[Finding] = field(default_factory=list)
    stuck: tuple[int, ...] = ()

    def text(self) -> str:
        """The findings, a paragraph each; empty if there are none."""
        return "\n".join(finding.text for finding in self.findings)

    def as_dict(self) -> dict:
        """For JSON."""
        return asdict(self)


def explain(states: Sequence[RankState]) -> Report:
    """Say who waits for whom, and what is wrong with that."""
    ranks = {state.rank: state for state in states}
    matching = match(states)
    wrong = disagreements(states)
    edges = {state.rank: _edges(state, ranks, matching, wrong) for state in states}
    stuck = _stuck(ranks, edges)
    findings = [Finding("collectives", d.ranks, d.text) for d in wrong]
    findings += [Finding("missing", *found) for found in missing(states, wrong)]
    findings += _circles(ranks, edges, stuck)
    unmet = differences(matching)
    told = {frozenset(who) for who, _ in unmet}
    findings += [f for f in _ended(ranks, edges, stuck) if frozenset(f.ranks) not in told]
    findings += [Finding("message", *found) for found in unmet]
    if not findings:
        findings += _outside(ranks, edges)
    return Report(findings, tuple(sorted(stuck)))


@dataclass(frozen=True)
class _Edge:
    """What a rank waits for, and the ranks of which all, or one if `any_of`, must go on."""

    what: Message | Collective
    targets: frozenset[int]
    any_of: bool = False


def _edges(
    state: RankState,
    ranks: dict[int, RankState],
    matching: Matching,
    wrong: list[Disagreement],
) -> list[_Edge]:
    """The open waits of a rank; what is met or complete gives an edge to nobody."""
    if state.status != "blocked":
        return []
    edges = []
    for what in state.waits:
        if isinstance(what, Collective):
            late = {rank for rank in what.members if rank in ranks and _late(ranks[rank], what)}
            other = {rank for d in wrong if d.concerns(what) for rank in d.opposed(state.rank)}
            edges.append(_Edge(what, frozenset(late | other)))
        elif matching.meets(state.rank, what):
            edges.append(_Edge(what, frozenset()))
        elif what.peer is None:
            edges.append(_Edge(what, frozenset(ranks) - {state.rank}, any_of=True))
        else:
            edges.append(_Edge(what, frozenset([what.peer])))
    return edges


def _late(state: RankState, collective: Collective) -> bool:
    """Whether a rank has not come to a collective, as far as its history goes."""
    numbers = [c.number for c in state.history if c.communicator == collective.communicator]
    return max(numbers, default=0) < collective.number


def _stuck(ranks: dict[int, RankState], edges: dict[int, list[_Edge]]) -> set[int]:
    """The blocked ranks that no other can set free."""
    free = {rank for rank, state in ranks.items() if state.status == "running"}

    def satisfied(edge: _Edge) -> bool:
        if not edge.targets:
            return not edge.any_of
        return (any if edge.any_of else all)(target in free for target in edge.targets)

    while True:
        more = {
            rank
            for rank, state in ranks.items()
            if state.status == "blocked"
            and rank not in free
            and (any if state.any_suffices else all)(map(satisfied, edges[rank]))
        }
        if not more:
            return {r for r, s in ranks.items() if s.status == "blocked" and r not in free}
        free |= more


def _open(edges: list[_Edge]) -> Iterable[tuple[int, _Edge]]:
    return ((target, edge) for edge in edges for target in sorted(edge.targets))


def _circles(
    ranks: dict[int, RankState], edges: dict[int, list[_Edge]], stuck: set[int]
) -> list[Finding]:
    graph = {
        rank: {target for target, edge in _open(edges[rank]) if target in stuck} for rank in stuck
    }
    found = []
    for circle in circles(graph):
        steps = [
            next(edge for target, edge in _open(edges[rank]) if target == after)
            for rank, after in zip(circle, [*circle[1:], circle[0]], strict=True)
        ]
        if any(isinstance(step.what, Collective) for step in steps) and len(circle) == 2:
            # Two ranks in two collectives: said before, and better.
            if all(isinstance(step.what, Collective) for step in steps):
                continue
        found.append(Finding("circle", tuple(circle), _circle_text(circle, steps)))
    return found


def _circle_text(circle: list[int], steps: list[_Edge]) -> str:
    kinds = {step.what.kind if isinstance(step.what, Message) else "" for step in steps}
    if len(circle) == 1:
        return f"rank {circle[0]} waits for itself, in {steps[0].what}"
    way = " -> ".join(map(str, [*circle, circle[0]]))
    if len(circle) > LONGEST_CIRCLE:
        way = f"{' -> '.join(map(str, circle[:4]))} -> ... -> {circle[-1]} -> {circle[0]}"
    lines = [f"{len(circle)} ranks wait for each other in a circle, {way}:"]
    shown = list(zip(circle, steps, strict=True))
    for rank, step in shown if len(shown) <= LONGEST_CIRCLE else shown[:3]:
        lines.append(f"  rank {rank} waits in {step.what}")
    if len(shown) > LONGEST_CIRCLE:
        lines.append(f"  and so on for {len(shown) - 3} more ranks")
    if kinds == {"send"} and not any("Sendrecv" in str(step.what) for step in steps):
        lines.append(
            "  All of them send before they receive: that works only while messages are so short "
            "that MPI keeps a copy. Use Sendrecv, or Irecv before the send, or let every other "
            "rank receive first."
        )
    elif kinds <= {"recv", "probe"}:
        lines.append("  All of them receive before they send, so nobody has sent anything.")
    return "\n".join(lines)


def _ended(
    ranks: dict[int, RankState], edges: dict[int, list[_Edge]], stuck: set[int]
) -> list[Finding]:
    """Who waits for ranks that do nothing any more."""
    found = []
    for rank in sorted(stuck):
        for target, edge in _open(edges[rank]):
            if edge.any_of or isinstance(edge.what, Collective):
                continue
            if target not in ranks:
                text = f"rank {rank} waits in {edge.what}, but there is no rank {target}"
                found.append(Finding("ended", (rank,), text))
            elif ranks[target].status in ENDED:
                does = "receiving it" if edge.what.kind == "send" else "sending it"
                ended = ENDED[ranks[target].status]
                text = f"rank {rank} waits in {edge.what}, but rank {target} {ended} without {does}"
                found.append(Finding("ended", (rank, target), text))
        gone = [edge for edge in edges[rank] if edge.any_of]
        if gone and all(ranks[target].status in ENDED for edge in gone for target in edge.targets):
            text = f"rank {rank} waits in {gone[0].what}, but all other ranks have ended"
            found.append(Finding("ended", (rank,), text))
    return found


def _outside(ranks: dict[int, RankState], edges: dict[int, list[_Edge]]) -> list[Finding]:
    """Those that others wait for, and that are not inside MPI."""
    waiting: dict[int, set[int]] = {}
    for rank, open_edges in edges.items():
        for target, _ in _open(open_edges):
            if target in ranks and ranks[target].status == "running":
                waiting.setdefault(target, set()).add(rank)
    found = []
    for target, who in sorted(waiting.items()):
        wait = "wait" if len(who) > 1 else "waits"
        where = f": it is at {ranks[target].where}" if ranks[target].where else ""
        text = f"{ranks_text(who)} {wait} for rank {target}, which is not inside MPI{where}"
        found.append(Finding("outside", (target,), text))
    return found
