"""``mpicoll learn``: the course of exercises."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import textwrap
from pathlib import Path

from mpicoll.commands import CommandError, Exit
from mpicoll.commands.units import write_json
from mpicoll.learn import progress
from mpicoll.learn.bug import OUTCOMES
from mpicoll.learn.course import LANGUAGES, Lesson, find_lesson, lessons
from mpicoll.learn.words import PARTS, language, say

__all__ = ["configure", "run"]

EXAMPLES = """\
A course from "who am I" over the collectives, written by hand in plain mpi4py, to the ways in which
large models are trained. Each exercise is one function. It has a text with a picture, a
specification to run, three hints, a check that explains mistakes, and a solution.

examples:
  mpicoll learn list                       the exercises, and how far you are
  mpicoll learn start ring_allreduce       make the folder ring_allreduce with everything in it
  mpicoll learn check ring_allreduce.py    is it right? on real processes, with explanations
  mpicoll learn hint ring_allreduce        a hint; again for the next
  mpicoll learn solution ring_allreduce    after passing: a solution, and questions
  mpicoll learn break ring_allreduce       after passing: predict what a bug does
  mpicoll learn list --lang zh             everything in Chinese too (default: from LANG)

Progress is kept in the file that `mpicoll learn status` names. exit status: 0, or 1 if the check
was not passed or the prediction was wrong, 2 if an argument makes no sense, 3 if no ranks can be
started
"""

ACTIONS = {
    "list": "the exercises, in order",
    "start": "make a folder with an exercise",
    "check": "check a file of yours",
    "hint": "the next hint",
    "solution": "a solution, after passing",
    "questions": "questions to think about, after passing",
    "break": "predict what a bug does, and see",
    "status": "how far you are",
    "reset": "forget an exercise and put its skeleton back",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions with their arguments."""
    parser.epilog = EXAMPLES
    parser.set_defaults(json=None, lang=None)
    actions = parser.add_subparsers(dest="action", metavar="ACTION", help="(default: list)")
    sub = {name: actions.add_parser(name, help=text) for name, text in ACTIONS.items()}
    for name in ("start", "hint", "solution", "questions"):
        sub[name].add_argument("name", metavar="NAME", help="see `mpicoll learn list`")
    sub["start"].add_argument("directory", nargs="?", metavar="DIR", help="(default: ./NAME)")
    sub["check"].add_argument("file", metavar="FILE", help="your NAME.py")
    sub["check"].add_argument("-n", metavar="P[,P...]", help="only these numbers of ranks")
    sub["check"].add_argument("--all", action="store_true", help="tell all mistakes at once")
    sub["hint"].add_argument("--level", type=int, choices=(1, 2, 3), help="this one, not the next")
    sub["questions"].add_argument("--answers", action="store_true", help="with the answers")
    sub["break"].add_argument("name", nargs="?", metavar="NAME", help="an exercise")
    sub["break"].add_argument("bug", nargs="?", metavar="BUG", help="one of its bugs")
    sub["break"].add_argument("--predict", choices=OUTCOMES, help="what will happen")
    sub["break"].add_argument(
        "--timeout", type=float, default=10, metavar="S", help="it hangs after S seconds (10)"
    )
    sub["reset"].add_argument("name", nargs="?", metavar="NAME")
    sub["reset"].add_argument("--all", action="store_true", help="forget all exercises")
    for name in ("solution", "questions", "break"):
        sub[name].add_argument("--reveal", action="store_true", help="before passing, too")
    for name in ("list", "check", "status", "break"):
        sub[name].add_argument("--json", metavar="FILE", help="write it to FILE (- = stdout)")
    for one in sub.values():
        one.add_argument("--lang", choices=LANGUAGES, help="(default: from LANG)")


def run(args: argparse.Namespace) -> int:
    """Do what is asked for."""
    speech = language(args.lang)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal that cannot show Chinese, say
    return DO[args.action or "list"](args, speech)


def _lesson(name: str) -> Lesson:
    try:
        return find_lesson(name)
    except ValueError as error:
        raise CommandError(str(error)) from None


def _allowed(lesson: Lesson, args: argparse.Namespace, speech: str) -> None:
    if not args.reveal and "passed" not in progress.read().get(lesson.name, {}):
        raise CommandError(say("locked", speech, name=lesson.name), Exit.FAILED)


def _list(args: argparse.Namespace, speech: str) -> int:
    known, part = progress.read(), 0
    data, lines = [], []
    for lesson in lessons().values():
        if lesson.order // 100 != part:
            part = lesson.order // 100
            lines += ["", say("part", speech, number=part, title=PARTS[part][speech])]
        state = _state(known.get(lesson.name, {}), speech)
        lines.append(f"  {lesson.name:<29} {lesson.title(speech)}" + f"  [{state}]" * bool(state))
        facts = {"name": lesson.name, "title": lesson.title(speech), "part": part}
        data.append(
            facts | {"bugs": list(lesson.bugs), "passed": "passed" in known.get(lesson.name, {})}
        )
    return _give(args, "\n".join(lines).strip("\n"), data)


def _state(entry: dict, speech: str) -> str:
    words = []
    if "passed" in entry:
        words.append(say("is passed", speech))
    elif entry:
        words.append(say("is started", speech))
        if "points" in entry:
            words.append(f"{entry['points']:.0f} {say('points', speech)}")
    if entry.get("hints"):
        words.append(say("hints used", speech, hints=entry["hints"]))
    return ", ".join(words)


def _give(args: argparse.Namespace, text: str, data: object) -> int:
    if args.json != "-":
        print(text)
    if args.json:
        write_json(args.json, data)
    return Exit.OK


def _start(args: argparse.Namespace, speech: str) -> int:
    from mpicoll.learn.begin import begin

    lesson = _lesson(args.name)
    # Who has just passed an exercise stands in its folder: the next one belongs beside it.
    inside = Path("specification.py").exists() and Path.cwd().name in lessons()
    folder = Path(args.directory or (f"../{lesson.name}" if inside else lesson.name))
    begin(lesson, folder, speech)
    progress.note(lesson.name, started=True, folder=str(folder.resolve()))
    print(say("started", speech, name=lesson.name, title=lesson.title(speech), folder=folder))
    return Exit.OK


def _check(args: argparse.Namespace, speech: str) -> int:
    from mpicoll.grade.formats import as_json
    from mpicoll.learn.checking import check_file, lesson_of, parse_sizes, told

    file = Path(args.file)
    lesson = lesson_of(file)
    report = check_file(lesson, file, parse_sizes(args.n))
    entry = progress.read().get(lesson.name, {})
    attempts = entry.get("attempts", 0) + 1
    best = max(report.score, entry.get("points", 0))
    facts = {"started": True, "attempts": attempts, "points": round(best, 1)}
    complete = report.passed and not args.n
    progress.note(lesson.name, **facts | ({"passed": True} if complete else {}))
    what = "passed" if report.passed else "not passed"
    lines = [told(report, lesson, file, speech, args.all), ""]
    lines.append(say(what, speech, points=report.score, attempts=attempts))
    if report.passed:
        lines.append(say("after passing", speech, name=lesson.name))
        names = list(lessons())
        later = names[names.index(lesson.name) + 1 :][:1]
        lines += [say("next exercise", speech, next=name) for name in later]
    else:
        lines.append(say("after failing", speech, name=lesson.name))
    _give(args, "\n".join(lines), as_json([report]) if args.json else None)
    return Exit.OK if report.passed else Exit.FAILED


def _hint(args: argparse.Namespace, speech: str) -> int:
    lesson = _lesson(args.name)
    hints, shown = lesson.hints(speech), progress.read().get(lesson.name, {}).get("hints", 0)
    number = args.level or min(shown + 1, len(hints))
    print(say("hint", speech, number=number, count=len(hints)) + "\n")
    print(_wrapped(hints[number - 1], speech))
    if args.level is None and shown >= len(hints):
        print("\n" + say("no more hints", speech, name=lesson.name))
    progress.note(lesson.name, started=True, hints=max(shown, number))
    return Exit.OK


def _wrapped(text: str, speech: str) -> str:
    """Text for a terminal; Chinese has no spaces to break lines at, and the terminal does it."""
    width = min(shutil.get_terminal_size().columns, 100)
    return "\n".join(textwrap.wrap(text, width)) if speech == "en" else text


def _solution(args: argparse.Namespace, speech: str) -> int:
    lesson = _lesson(args.name)
    _allowed(lesson, args, speech)
    if args.reveal and "passed" not in progress.read().get(lesson.name, {}):
        progress.note(lesson.name, revealed=True)
    print(lesson.read("solution.py"))
    return _questions(args, speech)


def _questions(args: argparse.Namespace, speech: str) -> int:
    lesson = _lesson(args.name)
    _allowed(lesson, args, speech)
    print(f"# {say('questions', speech)}")
    for number, (question, answer) in enumerate(lesson.questions(speech), 1):
        print("\n" + _wrapped(f"{number}. {question}", speech))
        if getattr(args, "answers", False):
            print(textwrap.indent(_wrapped(answer, speech), "   "))
    return Exit.OK


def _break(args: argparse.Namespace, speech: str) -> int:
    from mpicoll.commands import learn_break

    if args.name is None or args.bug is None:
        chosen = [_lesson(args.name)] if args.name else list(lessons().values())
        return learn_break.listed(args, chosen, speech)
    lesson = _lesson(args.name)
    if args.bug not in lesson.bugs:
        names = ", ".join(lesson.bugs) or "none"
        raise CommandError(f"{lesson.name} has no bug {args.bug!r}; its bugs: {names}")
    _allowed(lesson, args, speech)
    return learn_break.predicted(args, lesson, lesson.bugs[args.bug], speech)


def _status(args: argparse.Namespace, speech: str) -> int:
    known = progress.read()
    passed = sum("passed" in entry for entry in known.values())
    count, started = len(lessons()), len(known) - passed
    lines = [say("summary", speech, passed=passed, count=count, started=started)]
    for name, entry in known.items():
        lines.append(f"  {name:<29} {_state(entry, speech)}  {entry.get('passed', '')}".rstrip())
    lines.append(f"({progress.path()})")
    return _give(args, "\n".join(lines), {"file": str(progress.path()), "exercises": known})


def _reset(args: argparse.Namespace, speech: str) -> int:
    from mpicoll.learn.begin import begin_again

    if bool(args.name) == args.all:
        raise CommandError("mpicoll learn reset NAME, or --all")
    if args.all:
        progress.forget(None)
        print(say("forgotten", speech, name="--all"))
        return Exit.OK
    lesson = _lesson(args.name)
    folder = progress.read().get(lesson.name, {}).get("folder")
    progress.forget(lesson.name)
    print(say("forgotten", speech, name=lesson.name))
    moved = begin_again(lesson, Path(folder)) if folder else None
    if moved:
        print(say("skeleton back", speech, file=moved[0], kept=os.path.basename(moved[1])))
    return Exit.OK


DO = {
    "list": _list,
    "start": _start,
    "check": _check,
    "hint": _hint,
    "solution": _solution,
    "questions": _questions,
    "break": _break,
    "status": _status,
    "reset": _reset,
}
