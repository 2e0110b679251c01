"""``mpicoll grade``: students' functions, judged on real ranks and explained."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mpicoll.commands import CommandError, Exit
from mpicoll.commands.units import Progress, table, write_json
from mpicoll.grade.exercise import Exercise, known_exercises
from mpicoll.grade.formats import as_csv, as_gradescope, as_json, as_junit
from mpicoll.grade.grading import Grader, submission_of
from mpicoll.grade.report import Report, text_of

__all__ = ["configure", "run"]

EXAMPLES = """\
Calls the function of an exercise in each file, on real ranks, with many inputs, and says what is
right, what is not, and why: which rank, which line, which chunk holds whose contributions, who
waits for whom. A folder stands for the Python files in it. The exercise is the one whose function
the file defines, unless it is named.

The program runs in a scratch directory, with limits on time, memory, files and processes. It cannot
give its own verdict: every rank only gets its own input, and the parent judges the outputs.

examples:
  mpicoll grade ring.py
  mpicoll grade submissions/ --exercise ring_allreduce -n 4,3,5 --csv points.csv
  mpicoll grade ring.py --json - | jq .submissions[0].score
  mpicoll grade answer.py --gradescope /autograder/results/results.json
  mpicoll grade own.py --exercises my_exercises.py

exit status: 0 if every check of every file has passed, 1 if not, 2 if an argument makes no sense,
3 if no ranks can be started
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments and examples."""
    parser.epilog = EXAMPLES
    parser.add_argument("files", nargs="+", metavar="FILE", help="files, or folders of files")
    parser.add_argument("--exercise", metavar="NAME", help="(default: told by the function)")
    parser.add_argument(
        "-n", metavar="P[,P...]", help="numbers of ranks; mistakes are explained on the first"
    )
    parser.add_argument("--json", metavar="F", help="write everything to F (- = stdout)")
    parser.add_argument("--junit", metavar="F", help="write JUnit's XML to F")
    parser.add_argument("--gradescope", metavar="F", help="write Gradescope's results to F")
    parser.add_argument("--csv", metavar="F", help="write a line for each file to F")
    parser.add_argument(
        "--timeout",
        type=float,
        default=20,
        metavar="S",
        help="seconds for a call that still computes (default: %(default)g); ranks that wait for "
        "each other are found at once",
    )
    parser.add_argument(
        "--memory", type=int, default=2048, metavar="MB", help="for each rank (default: 2048)"
    )
    parser.add_argument("--exercises", metavar="FILE.py", help="a file with exercises of your own")
    parser.add_argument(
        "--no-speed", action="store_true", help="no points for speed, even if ranks have cores"
    )
    parser.add_argument("--quiet", action="store_true", help="a line for each file only")


def run(args: argparse.Namespace) -> int:
    """Grade all files, print each report, write what is asked for."""
    known = _known(args.exercises)
    if args.timeout <= 0 or args.memory <= 0:
        raise CommandError("--timeout and --memory must be positive")
    files = _files(args.files)
    tasks = [(file, _exercise(file, args.exercise, known)) for file in files]
    sizes = _sizes(args.n)
    if {"-"} & {args.junit, args.gradescope, args.csv}:
        raise CommandError("only --json can be written to - (stdout)")
    out = sys.stderr if args.json == "-" else sys.stdout
    exercises = str(Path(args.exercises).resolve()) if args.exercises else None
    reports: list[Report] = []
    for number, (file, exercise) in enumerate(tasks):
        tick = Progress(f"grade {number + 1}/{len(tasks)}")
        grader = Grader(
            exercise,
            sizes or exercise.sizes,
            args.timeout,
            args.memory << 20,
            exercises,
            False if args.no_speed else None,
            tick,
        )
        try:
            report = grader.grade(file)
        finally:
            tick.clear()
        reports.append(report)
        if not args.quiet:
            gap = "\n" if number else ""
            text = text_of(report, submission_of(exercise, file), exercise.hint)
            print(gap + _shown(text), file=out, flush=True)
    if len(reports) > 1 or args.quiet:
        print(("" if args.quiet else "\n") + _table(reports), file=out)
    _write(args, reports)
    return Exit.OK if reports and all(report.passed for report in reports) else Exit.FAILED


def _shown(text: str) -> str:
    """Without control characters, which a submission could put into its messages."""
    return "".join(c if c == "\n" or c.isprintable() else "?" for c in text)


def _known(file: str | None) -> dict[str, Exercise]:
    if file is None:
        return known_exercises()
    if not Path(file).is_file():
        raise CommandError(f"no such file: {file}")
    from mpicoll.grade.exercise import load_exercises

    try:
        return load_exercises(file)
    except Exception as error:  # a teacher's file: whatever is wrong there is said in a line
        raise CommandError(f"{file}: {type(error).__name__}: {error}") from None


def _files(names: list[str]) -> list[Path]:
    files: list[Path] = []
    for name in names:
        path = Path(name)
        if path.is_dir():
            found = sorted(p for p in path.rglob("*.py") if not p.name.startswith((".", "__")))
            if not found:
                raise CommandError(f"no Python files in {name}")
            files += found
        elif path.is_file():
            files.append(path)
        else:
            raise CommandError(f"no such file: {name}")
    return files


def _exercise(file: Path, name: str | None, known: dict[str, Exercise]) -> Exercise:
    if name is not None:
        if name not in known:
            import difflib

            similar = difflib.get_close_matches(name, known, 3) or sorted(known)
            raise CommandError(f"unknown exercise {name!r}: perhaps {', '.join(similar)}")
        return known[name]
    found = [e for e in known.values() if submission_of(e, file).defines(e.name, *e.aka)]
    # An allreduce may well be built of one's reduce-scatter and allgather.
    found = [e for e in found if e.name == file.stem] or found
    if len(found) == 1:
        return found[0]
    what = "the functions of several exercises" if found else "the function of no exercise"
    raise CommandError(f"{file} defines {what}: say which one with --exercise NAME")


def _sizes(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    try:
        sizes = tuple(dict.fromkeys(int(word) for word in text.split(",")))
    except ValueError:
        raise CommandError(f"-n takes numbers such as 4,2,3, not {text!r}") from None
    if min(sizes) < 2 or max(sizes) > 64:
        raise CommandError("-n takes 2 to 64 ranks: with one rank nothing is communicated")
    return sizes


def _table(reports: list[Report]) -> str:
    rows = []
    for report in reports:
        first = next((f for check in report.checks for f in check.findings), None)
        failed = [check.name for check in report.checks if check.status == "failed"]
        said = f"{first.code}, line {first.line}" if first and first.line else ""
        said = said or (first.code if first else "")
        verdict = "passed" if report.passed else "not passed"
        row = [report.file, f"{report.score:.0f}", f"{report.seconds:.1f}", verdict]
        rows.append([*row, ", ".join(failed), said])
    head = ["file", "points", "seconds", "", "failed checks", "first mistake"]
    return table([head[0], head[1], head[2], "", "", ""], rows)


def _write(args: argparse.Namespace, reports: list[Report]) -> None:
    if args.json:
        write_json(args.json, as_json(reports))
    if args.gradescope:
        write_json(args.gradescope, as_gradescope(reports))
    for path, make in ((args.junit, as_junit), (args.csv, as_csv)):
        if path:
            try:
                Path(path).write_text(make(reports), encoding="utf-8")
            except OSError as error:
                raise CommandError(f"cannot write {path}: {error.strerror}") from None
