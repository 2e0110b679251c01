"""``mpicoll doctor``: what is wrong with an environment, and what to type."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict

from mpicoll.commands import CommandError, Exit
from mpicoll.commands.units import show_bytes, write_json
from mpicoll.diagnosis.environment import Environment, look, try_two_ranks
from mpicoll.diagnosis.faults import Fault, faults
from mpicoll.launch import LaunchError

__all__ = ["configure", "run"]

EXAMPLES = """\
Looks at the MPI library that mpi4py loads, the launchers, installed wheels, cores, shared memory
and Slurm's variables, runs a program on two ranks, and names for each fault the line that mends it.

examples:
  mpicoll doctor                      this environment
  mpicoll doctor -n 8                 and whether it has room for 8 ranks
  mpicoll doctor program.py           and how to start this program
  srun -n 2 mpicoll doctor            inside a job: do its ranks find each other?
  mpicoll doctor --json -             all facts and faults

The exit status is 1 if there is a fault; notes are none.
"""

LEVELS = ("single", "funneled", "serialized", "multiple")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments and examples."""
    parser.epilog = EXAMPLES
    parser.add_argument("program", nargs="?", default="", help="a program that you want to start")
    parser.add_argument("-n", type=int, default=0, metavar="P", help="ranks that you want to start")
    parser.add_argument(
        "--json", metavar="FILE", help="write facts and faults to FILE (- = stdout)"
    )


def run(args: argparse.Namespace) -> int:
    """Look, judge, print."""
    if args.n < 0:
        raise CommandError(f"the number of ranks must be at least 1, not {args.n}")
    try:
        found = look(args.n, args.program)
    except OSError as error:
        raise CommandError(f"cannot read {args.program}: {error.strerror}") from None
    if found.launcher is not None and found.job_size is None and not found.world_error:
        try:
            found.trial = try_two_ranks()
        except LaunchError as error:
            raise CommandError(str(error), Exit.ENVIRONMENT) from None
    wrong = faults(found)
    out = sys.stderr if args.json == "-" else sys.stdout
    print(_facts(found), file=out)
    print(_verdict(wrong), file=out)
    if args.json:
        write_json(args.json, {"facts": asdict(found), "faults": [asdict(f) for f in wrong]})
    return Exit.FAILED if any(fault.level == "fault" for fault in wrong) else Exit.OK


def _facts(found: Environment) -> str:
    versions = ", ".join(f"{name} {number or 'missing'}" for name, number in found.versions.items())
    job = "none: this process was started by no MPI launcher"
    if found.job_size is not None:
        job = f"{found.job_launcher} started {found.job_size}; COMM_WORLD has {found.world_size}"
    memory = "none" if found.shared_memory is None else f"{show_bytes(found.shared_memory)} free"
    level = "unknown" if found.thread_level is None else LEVELS[found.thread_level]
    rows = [
        ("versions", versions),
        ("MPI library", str(found.library or "none")),
        ("its launcher", str(found.launcher or "none")),
        ("first on PATH", str(found.first_on_path or "none")),
        ("MPI wheels", ", ".join(found.wheels) or "none"),
        ("cores", f"{found.cores}" + (f", for {found.ranks} ranks" if found.ranks else "")),
        ("shared memory", memory),
        ("thread level", level),
        ("job", job),
    ]
    slurm = {k: v for k, v in found.variables.items() if k.startswith("SLURM")}
    if slurm:
        rows.append(("Slurm", ", ".join(f"{name}={value}" for name, value in slurm.items())))
    if found.trial is not None:
        said = f"{found.trial.seconds:.1f} s" if found.trial.ran else "failed"
        rows.append(("two ranks", said))
    return "\n".join(f"{name:<14} {value}" for name, value in rows)


def _verdict(wrong: list[Fault]) -> str:
    lines = [""]
    for fault in wrong:
        first, *rest = fault.text.splitlines() or [""]
        lines += [f"{fault.level}: {first}", *(f"    {line}" for line in rest)]
        lines.append(f"  type: {fault.mend}")
    count = sum(fault.level == "fault" for fault in wrong)
    lines.append(f"{count} fault{'s' * (count != 1)}" if count else "all well")
    return "\n".join(lines)
