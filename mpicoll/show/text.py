"""Plans as text: what every rank receives, sends and combines, round by round.

>>> from mpicoll.registry import find
>>> for line in story(find("allgather", "ring"), 2).splitlines():
...     print(line or "-")
allgather ring on 2 ranks, blocks = 2
-
round 1
  rank 0: chunk 0 = A0
  rank 1: chunk 1 = B1
-
round 2
  rank 0: receives B1, sends A0
  rank 1: receives A0, sends B1
-
A2: block 2 of rank 0's data, B rank 1's; A2+B2: combined in this order
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mpicoll.analysis.findings import letters, spell
from mpicoll.analysis.rendezvous import Value
from mpicoll.analysis.symbolic import Proof, trace
from mpicoll.registry import Algorithm
from mpicoll.steps import Recv, Round, Send

__all__ = ["heading", "round_line", "rounds_of", "story"]


def round_line(
    rank: int,
    number: int,
    steps: Round,
    values: Mapping,
    seen: Callable[[int], bool] = lambda index: True,
) -> str:
    """A rank's round in the notation ``receives D2, sends A3; chunk 2 = A2+D2``.

    `values` are those of `mpicoll.analysis.symbolic.trace`; `number` counts from 0. Messages of
    which `seen` is not true, by their number in the round, are left out.
    """
    messages, local = [], []
    for index, step in enumerate(steps):
        if isinstance(step, (Send, Recv)) and not seen(index):
            continue
        content = values.get((rank, number, index), ())
        if isinstance(step, (Send, Recv)):
            verb = "receives" if isinstance(step, Recv) else "sends"
            direction = "from" if isinstance(step, Recv) else "to"
            text = " ".join(_spelled(value) for value in content)
            messages.append(
                (isinstance(step, Send), f"{verb} {text or f'word {direction} {step.peer}'}")
            )
        else:
            into = step[-1].blocks
            local += [
                f"chunk {block} = {_spelled(value)}"
                for block, value in zip(into, content, strict=True)
            ]
    # What arrives is named first, as in the lecture; sorting is stable.
    parts = [", ".join(text for _, text in sorted(messages, key=lambda entry: entry[0]))]
    return "; ".join(filter(None, [*parts, ", ".join(local)]))


def _spelled(value: Value) -> str:
    return spell(*value[:2])


def heading(algorithm: Algorithm, size: int, root: int, parameters: Mapping[str, object]) -> str:
    """Algorithm, size, root and parameters as text."""
    parts = [f"{algorithm} on {size} rank{'s' if size > 1 else ''}"]
    if algorithm.spec.rooted:
        parts.append(f"root {root}")
    parts.append(f"blocks = {algorithm.number_of_blocks(size, parameters)}")
    parts += [f"{name} = {value}" for name, value in algorithm.settings(parameters).items()]
    return ", ".join(parts)


def rounds_of(proof: Proof, values: Mapping) -> list[dict[int, str]]:
    """For every round, the line of every rank that has such a round."""
    keywords = {**proof.parameters}
    plans = [
        proof.algorithm.plan(rank, proof.size, proof.root, **keywords) for rank in range(proof.size)
    ]
    return [
        {
            rank: round_line(rank, number, plan[number], values)
            for rank, plan in enumerate(plans)
            if number < len(plan)
        }
        for number in range(max(map(len, plans)))
    ]


def story(algorithm: Algorithm, size: int, root: int = 0, **parameters: object) -> str:
    """The step table of all ranks, with the contributors of everything that moves."""
    proof, values = trace(algorithm, size, root=root, **parameters)
    lines = [heading(algorithm, size, root, parameters)]
    for number, ranks in enumerate(rounds_of(proof, values), start=1):
        lines += ["", f"round {number}"]
        lines += [f"  rank {rank}: {text}" for rank, text in ranks.items()]
    lines += ["", _legend(algorithm, size)]
    if not proof.ok:
        lines += ["", proof.explain()]
    return "\n".join(lines)


def _legend(algorithm: Algorithm, size: int) -> str:
    if algorithm.collective == "barrier":
        return "word: a message without content"
    last = f", {letters(size - 1)} rank {size - 1}'s" if size > 1 else ""
    return f"A2: block 2 of rank 0's data{last}; A2+B2: combined in this order"
