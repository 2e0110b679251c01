"""``mpicoll learn break``: what a bug does, predicted and seen."""

from __future__ import annotations

import argparse
import sys

from mpicoll.commands import CommandError, Exit
from mpicoll.commands.units import write_json
from mpicoll.learn import progress
from mpicoll.learn.breaking import change, happens
from mpicoll.learn.bug import OUTCOMES, Bug
from mpicoll.learn.course import Lesson
from mpicoll.learn.words import OUTCOMES as MEANINGS
from mpicoll.learn.words import say

__all__ = ["listed", "predicted"]


def listed(args: argparse.Namespace, chosen: list[Lesson], speech: str) -> int:
    """The bugs of some exercises, and what the learner said about them."""
    known, lines, data = progress.read(), [], []
    for lesson in chosen:
        said = known.get(lesson.name, {}).get("predictions", {})
        lines += [f"{lesson.name}: {lesson.title(speech)}"] if lesson.bugs else []
        for bug in lesson.bugs.values():
            state = say("not yet predicted", speech)
            if bug.name in said:
                state = say("you said", speech, predicted=said[bug.name])
            ranks = say("runs on", speech, size=bug.size)
            lines.append(f"  {bug.name:<26} {ranks:<12} {state}")
            data.append({"exercise": lesson.name, "bug": bug.name, "predicted": said.get(bug.name)})
    if len(chosen) == 1 and not chosen[0].bugs:
        lines.append(say("no bugs", speech, name=chosen[0].name))
    if args.json != "-":
        print("\n".join(lines))
    if args.json:
        write_json(args.json, data)
    return Exit.OK


def predicted(args: argparse.Namespace, lesson: Lesson, bug: Bug, speech: str) -> int:
    """Show the change, take a prediction, run it and compare."""
    if args.timeout <= 0:
        raise CommandError("--timeout must be positive")
    out = sys.stderr if args.json == "-" else sys.stdout
    where = say("runs on", speech, size=bug.size)
    print(f"{lesson.name}, {bug.name} ({where}, n = {bug.n})\n", file=out)
    print(change(lesson, bug) + "\n", file=out)
    prediction = args.predict or _asked(lesson, bug, speech)
    if prediction is None:
        return Exit.OK
    print(say("running", speech), file=out, flush=True)
    happened = happens(lesson, bug, args.timeout)
    print(f"\n{happened.seen}\n", file=out)
    right = happened.outcome == prediction
    verdict = "right prediction" if right else "wrong prediction"
    print(say(verdict, speech, predicted=prediction, outcome=happened.outcome), file=out)
    print(lesson.explanations(speech)[bug.name], file=out)
    if happened.outcome != bug.outcome:
        print(
            f"(mpicoll expected {bug.outcome}: please report this, with your MPI library)", file=out
        )
    said = progress.read().get(lesson.name, {}).get("predictions", {})
    # The first prediction counts: afterwards one knows.
    progress.note(lesson.name, predictions={bug.name: prediction, **said})
    if args.json:
        facts = {"exercise": lesson.name, "bug": bug.name, "predicted": prediction}
        write_json(args.json, facts | {"outcome": happened.outcome, "seconds": happened.seconds})
    return Exit.OK if right else Exit.FAILED


def _asked(lesson: Lesson, bug: Bug, speech: str) -> str | None:
    for name in OUTCOMES:
        print(f"  {MEANINGS[name][speech]}")
    choices = "/".join(OUTCOMES)
    if not sys.stdin or not sys.stdin.isatty():
        values = {"name": lesson.name, "bug": bug.name, "choice": "wrong"}
        print(say("predict", speech, choices=choices, **values))
        return None
    while True:
        try:
            answer = input(say("ask", speech, choices=choices)).strip().lower()
        except EOFError:
            return None
        if answer in OUTCOMES:
            return answer
