"""Judges what is left when the plans have run: stuck ranks, results, barriers, declarations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from mpicoll.analysis.findings import Finding, spell
from mpicoll.analysis.rendezvous import LOST, Rendezvous, Value
from mpicoll.registry import Algorithm
from mpicoll.spec import Piece
from mpicoll.steps import Plan, Recv, Reduce, Send, communicates

__all__ = ["count", "judge_barrier", "judge_claims", "judge_results", "judge_stuck", "unmatched"]

Report = Callable[[Finding], None]


def unmatched(plans: Sequence[Plan], report: Report) -> None:
    """Compare, for every pair of ranks, how many messages are sent and how many received."""
    sent: dict[tuple[int, int], list] = {}
    received: dict[tuple[int, int], list] = {}
    for rank, plan in enumerate(plans):
        for number, steps in enumerate(plan, start=1):
            for step in steps:
                if isinstance(step, Send):
                    sent.setdefault((rank, step.peer), []).append((number, step))
                elif isinstance(step, Recv):
                    received.setdefault((step.peer, rank), []).append((number, step))
    for pair in sorted(sent.keys() | received.keys()):
        sends, recvs = sent.get(pair, []), received.get(pair, [])
        source, target = pair
        if len(sends) > len(recvs):
            number, step = sends[len(recvs)]
            kind, rank = "unmatched send", source
        elif len(recvs) > len(sends):
            number, step = recvs[len(sends)]
            kind, rank = "unmatched receive", target
        else:
            continue
        message = f"rank {source} sends {len(sends)} messages to rank {target}, which receives "
        report(
            Finding(
                kind,
                f"{message}{len(recvs)}",
                rank,
                number,
                str(step),
                expected="as many sends as receives",
                got=f"{len(sends)} and {len(recvs)}",
            )
        )


def judge_stuck(world: Rendezvous, stuck: Sequence[int], report: Report) -> None:
    """Explain why ranks did not come to their end: who waits for whom."""
    waits: dict[int, list[tuple[int, str]]] = {rank: [] for rank in stuck}
    for queues, verb in ((world.waiting_sends, "send"), (world.waiting_recvs, "receive")):
        for pair, queue in queues.items():
            source, target = divmod(pair, world.size)
            me, other = (source, target) if verb == "send" else (target, source)
            for _, index in queue:
                step = world.plans[me][world.at[me]][index]
                waits[me].append((other, f"round {world.at[me] + 1}, {step}"))
    circle = _circle(waits)
    if circle:
        lines = []
        for rank, following in zip(circle, [*circle[1:], circle[0]], strict=True):
            place = next(text for other, text in waits[rank] if other == following)
            lines.append(f"rank {rank} waits for rank {following} ({place})")
        step = world.plans[circle[0]][world.at[circle[0]]]
        report(
            Finding(
                "deadlock",
                "; ".join(lines),
                circle[0],
                world.at[circle[0]] + 1,
                "; ".join(map(str, step)),
                expected="messages that complete without being buffered",
                got=f"{len(stuck)} of {world.size} ranks wait for ever",
            )
        )
        return
    rank = next(r for r in stuck if any(other not in waits for other, _ in waits[r]))
    other, place = next(entry for entry in waits[rank] if entry[0] not in waits)
    report(
        Finding(
            "deadlock",
            f"rank {rank} waits for rank {other} ({place}), which has already finished",
            rank,
            world.at[rank] + 1,
            expected="every message has another end",
            got=f"{len(stuck)} of {world.size} ranks wait for ever",
        )
    )


def _circle(waits: Mapping[int, Sequence[tuple[int, str]]]) -> list[int]:
    """Ranks that wait for each other in a circle, if there are any (depth-first search)."""
    finished: set[int] = set()
    for start in waits:
        path: list[int] = [start]
        branches = [iter([other for other, _ in waits[start]])]
        while branches:
            other = next(branches[-1], None)
            if other is None:
                branches.pop()
                finished.add(path.pop())
            elif other in path:
                return path[path.index(other) :]
            elif other in waits and other not in finished:
                path.append(other)
                branches.append(iter([o for o, _ in waits[other]]))
    return []


def judge_results(world: Rendezvous, report: Report) -> str:
    """Compare every block with the statement of the collective.

    Returns how operands were combined: "rank" or "commutative" (it counts only where values are
    combined).
    """
    order = "rank"
    for rank, here in enumerate(world.geometry):
        memory = world.memory[rank]
        for slot, piece in here.after.items():
            got = memory.get(here.alias.get(slot, slot))
            if got is not None and got[1] == piece.ranks and got[0] == piece.number:
                continue
            if got is LOST:
                continue  # its fault has been reported where it arose
            kind = _difference(piece, got)
            if kind == "wrong order":
                order = "commutative"
                continue
            block = slot - here.blocks
            report(
                Finding(
                    kind,
                    f"rank {rank} ends with a wrong Output[{block}]",
                    rank,
                    expected=spell(*piece, short=True),
                    got="nothing" if got is None else spell(*got[:2], short=True),
                    grid=world.draw("Output", here.blocks, rank, block),
                )
            )
    return order


def _difference(piece: Piece, got: Value | None) -> str:
    if got is None:
        return "no result"
    if got[0] != piece.number:
        return "wrong piece"
    if sorted(got[1]) == sorted(piece.ranks):
        return "wrong order"
    have, want = Counter(got[1]), Counter(piece.ranks)
    if set(have) - set(want):
        return "foreign contribution"
    return "missing contribution" if set(want) - set(have) else "double contribution"


def judge_barrier(world: Rendezvous, report: Report) -> None:
    """Nobody may leave before having heard, directly or through others, from everybody."""
    for rank, known in enumerate(world.known):
        missing = [str(other) for other in range(world.size) if not known >> other & 1]
        if missing:
            report(
                Finding(
                    "not heard",
                    f"rank {rank} leaves without having heard of rank {', '.join(missing)}",
                    rank,
                    len(world.plans[rank]) or None,
                    expected="word from every rank",
                    got=f"word from {world.size - len(missing)} of {world.size}",
                )
            )


def count(plans: Sequence[Plan], blocks: int) -> tuple[int, Fraction, Fraction, int]:
    """Rounds, volume and reduced of the busiest ranks, and messages of all ranks."""
    rounds = sent = reduced = messages = 0
    for plan in plans:
        my_rounds = my_sent = my_reduced = 0
        for steps in plan:
            my_rounds += communicates(steps)
            for step in steps:
                if isinstance(step, Send):
                    my_sent += len(step.chunk.blocks)
                    messages += 1
                elif isinstance(step, Reduce):
                    my_reduced += len(step.into.blocks)
        rounds = max(rounds, my_rounds)
        sent = max(sent, my_sent)
        reduced = max(reduced, my_reduced)
    return rounds, Fraction(sent, blocks), Fraction(reduced, blocks), messages


def judge_claims(
    algorithm: Algorithm,
    size: int,
    root: int,
    parameters: Mapping[str, object],
    counted: tuple[int, Fraction, Fraction],
    order: str,
    report: Report,
) -> None:
    """Compare the counts with the declaration."""
    try:
        claimed = algorithm.claims(size, parameters, root)
    except Exception as error:  # a formula may fail in any way
        report(Finding("false declaration", f"a formula of {algorithm} fails: {error}"))
        return
    for name, claim, found in zip(("rounds", "volume", "reduced"), claimed, counted, strict=True):
        if claim != found:
            report(
                Finding(
                    "false declaration",
                    f"{algorithm} declares {name}={getattr(algorithm, name)!r}",
                    expected=f"{claim} for P = {size}, as declared",
                    got=f"{found}, as counted",
                )
            )
    if algorithm.order == "rank" and order == "commutative":
        report(
            Finding(
                "wrong order",
                f"{algorithm} declares order='rank', but combines in another order",
                expected="operands in rank order",
                got="an order that is right only if the operation commutes",
            )
        )
