"""Pipeline schedules as pure generators: what a stage computes, in which order. No MPI here.

A stage yields `Action`s: F3 is the forward pass of microbatch 3, B3 its backward pass. What must be
sent and received follows from them (`with_messages`); so do the order in time, the bubble and how
many microbatches a stage keeps in memory (`timeline`, `bubble`, `most_kept`).

python examples/training/schedules.py prints both schedules for 4 stages and 8 microbatches.
"""

from collections import deque
from typing import NamedTuple


class Action(NamedTuple):
    """The forward (F) or backward (B) pass of one microbatch on one stage."""

    kind: str
    microbatch: int

    def __str__(self):
        return f"{self.kind}{self.microbatch}"


def gpipe(stage, stages, microbatches):
    """Do all forward passes, then all backward passes: simple, but keeps every microbatch.

    Backward passes go in the opposite order, as in the paper (Huang and others, 2019).
    """
    for microbatch in range(microbatches):
        yield Action("F", microbatch)
    for microbatch in reversed(range(microbatches)):
        yield Action("B", microbatch)


def one_f_one_b(stage, stages, microbatches):
    """Start as many as there are stages from here to the last, then alternate: 1F1B.

    A stage keeps no more microbatches than that (Narayanan and others, 2019, 2021).
    """
    ahead = min(stages - 1 - stage, microbatches)
    for microbatch in range(ahead):
        yield Action("F", microbatch)
    for microbatch in range(ahead, microbatches):
        yield Action("F", microbatch)
        yield Action("B", microbatch - ahead)
    for microbatch in range(microbatches - ahead, microbatches):
        yield Action("B", microbatch)


SCHEDULES = {"gpipe": gpipe, "1f1b": one_f_one_b}


def source(action, stage, stages):
    """Name the neighbour whose result `action` needs (before for F, after for B), or None."""
    neighbour = stage - 1 if action.kind == "F" else stage + 1
    return neighbour if 0 <= neighbour < stages else None


def target(action, stage, stages):
    """Name the neighbour that needs the result of `action`, or None."""
    neighbour = stage + 1 if action.kind == "F" else stage - 1
    return neighbour if 0 <= neighbour < stages else None


class Step(NamedTuple):
    """One thing a stage does: post a receive, wait for it, compute, or start to send."""

    verb: str  # "post", "wait", "compute" or "send"
    action: Action
    peer: int | None = None  # None for "compute"


def with_messages(actions, stage, stages):
    """Add the messages: each receive is posted while the action before it still computes.

    Sends are started and never waited for between actions. With blocking calls 1F1B stops for ever:
    a stage sends activations to one that is sending gradients back.
    """
    actions = list(actions)

    def post(number):
        if number < len(actions):
            peer = source(actions[number], stage, stages)
            if peer is not None:
                yield Step("post", actions[number], peer)

    yield from post(0)
    for number, action in enumerate(actions):
        peer = source(action, stage, stages)
        if peer is not None:
            yield Step("wait", action, peer)
        yield from post(number + 1)
        yield Step("compute", action)
        peer = target(action, stage, stages)
        if peer is not None:
            yield Step("send", action, peer)


# --------------------------------------------------------------------------- what follows from them


class Span(NamedTuple):
    """When a stage worked on an action."""

    stage: int
    action: Action
    begin: float
    end: float


def timeline(schedule, stages, microbatches, forward=1.0, backward=2.0, blocking=False):
    """Run all stages in one process, as soon as data are there; give the spans.

    Messages take no time. With `blocking`, Send and Recv stand for the non-blocking calls: receives
    are not posted ahead, and who sends goes on only when the other has come to its receive. Raises
    RuntimeError that names each stage's next action if no stage can go on.
    """
    queues = [
        deque(with_messages(schedule(s, stages, microbatches), s, stages)) for s in range(stages)
    ]
    clock, spans = [0.0] * stages, []
    posted, sent = set(), {}  # by (sender, receiver, action)
    while any(queues):
        moved = False
        for stage, queue in enumerate(queues):
            while queue:
                verb, action, peer = queue[0]
                if verb == "post":
                    if not blocking:
                        posted.add((peer, stage, action))
                elif verb == "wait":
                    posted.add((peer, stage, action))
                    if (peer, stage, action) not in sent:
                        break
                    clock[stage] = max(clock[stage], sent[peer, stage, action])
                elif verb == "send":
                    if blocking and (stage, peer, action) not in posted:
                        break
                    sent[stage, peer, action] = clock[stage]
                else:
                    begin = clock[stage]
                    clock[stage] += forward if action.kind == "F" else backward
                    spans.append(Span(stage, action, begin, clock[stage]))
                queue.popleft()
                moved = True
        if not moved:
            stuck = [f"stage {s}: {q[0].verb} {q[0].action}" for s, q in enumerate(queues) if q]
            raise RuntimeError("no stage can go on: " + ", ".join(stuck))
    return spans


def bubble(spans, stages):
    """Give the share of the stages' time, from the first begin to the last end, without work."""
    whole = max(s.end for s in spans) - min(s.begin for s in spans)
    return 1 - sum(s.end - s.begin for s in spans) / (stages * whole)


def bubble_formula(stages, microbatches):
    """(S - 1) / (S + M - 1), of both schedules, if all stages take equally long."""
    return (stages - 1) / (stages + microbatches - 1)


def most_kept(actions):
    """Give the most microbatches that have gone forward and not yet backward."""
    kept = most = 0
    for action in actions:
        kept += 1 if action.kind == "F" else -1
        most = max(most, kept)
    return most


def as_text(spans, stages, columns=96):
    """Draw the spans, one line for each stage: digits go forward, letters backward, dots wait."""
    begin = min(s.begin for s in spans)
    scale = columns / (max(s.end for s in spans) - begin)
    rows = [["."] * columns for _ in range(stages)]
    for span in spans:
        number = span.action.microbatch
        names = "0123456789" if span.action.kind == "F" else "abcdefghijklmnopqrstuvwxyz"
        first, last = (round((t - begin) * scale) for t in (span.begin, span.end))
        for column in range(first, max(last, first + 1)):
            if column < columns:
                rows[span.stage][column] = names[number % len(names)]
    return "\n".join(f"stage {s} |{''.join(row)}|" for s, row in enumerate(rows))


if __name__ == "__main__":
    for name, schedule in SCHEDULES.items():
        spans = timeline(schedule, 4, 8)
        kept = [most_kept(schedule(stage, 4, 8)) for stage in range(4)]
        print(
            f"{name}: bubble {bubble(spans, 4):.3f}, formula {bubble_formula(4, 8):.3f};", end=" "
        )
        print(f"microbatches kept on stages 0 to 3: {kept}")
        print(as_text(spans, 4, 99), end="\n\n")
