"""``mpicoll slurm``: a batch script for Slurm, with comments, for a given command."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from pathlib import Path

from mpicoll.commands import CommandError
from mpicoll.launch.library import find_library

__all__ = ["configure", "run", "script"]

EXAMPLES = """\
The script is for the environment that this command runs in: it enters the same virtual environment
and starts ranks as the MPI library there needs it. Read it, change what your site does otherwise,
and submit it with sbatch. docs/clusters.md says more about modules and MPI libraries.

examples:
  mpicoll slurm --nodes 2 --ntasks-per-node 4 -- mpicoll check
  mpicoll slurm --nodes 4 --time 30 --exclusive -o bench.sh -- mpicoll bench allreduce --json a.json
  mpicoll slurm --partition short --module openmpi/5.0 -- program.py --steps 100
  mpicoll slurm --launcher mpirun -- mpicoll run program.py
"""

#: MPI library -> what srun must be told so that it and the ranks understand each other.
INTERFACES = {"mpich": "pmi2", "openmpi": "pmix"}
TIME = re.compile(r"\d+(:\d{1,2}){0,2}|\d+-\d{1,2}(:\d{1,2}){0,2}")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments and examples."""
    parser.epilog = EXAMPLES
    parser.usage = "mpicoll slurm [options] -- COMMAND ..."
    add = parser.add_argument
    add("--nodes", type=int, default=2, metavar="N", help="default: 2")
    add("--ntasks-per-node", type=int, default=2, metavar="M", help="ranks of a node (default: 2)")
    add("--cpus-per-task", type=int, default=1, metavar="C", help="cores of a rank (default: 1)")
    add("--time", default="10", metavar="T", help="minutes, H:MM:SS or D-HH (default: 10)")
    add("--partition", metavar="NAME", help="where to run, if not in the site's default")
    add("--account", metavar="NAME", help="whose hours these are, if the site asks")
    add("--exclusive", action="store_true", help="share no node with other jobs: to measure")
    add("--module", action="append", default=[], metavar="NAME", help="load a module; repeatable")
    add("--mpi", choices=sorted(INTERFACES), help="the MPI library (default: that of this Python)")
    add(
        "--launcher",
        choices=("srun", "mpirun"),
        default="srun",
        help="what starts the ranks (default: srun)",
    )
    add("-o", "--output", metavar="FILE", help="write the script to FILE (default: print it)")
    add("command", nargs="+", metavar="COMMAND", help="what each rank runs, after --")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    for option in ("nodes", "ntasks_per_node", "cpus_per_task"):
        if getattr(args, option) < 1:
            name = option.replace("_", "-")
            raise CommandError(f"--{name} must be at least 1, not {getattr(args, option)}")
    if not TIME.fullmatch(args.time):
        raise CommandError(f"--time takes minutes, H:MM:SS or D-HH, not {args.time!r}")
    for option in ("partition", "account"):
        value = getattr(args, option)
        if value is not None and not re.fullmatch(r"[\w.,+-]+", value):
            raise CommandError(f"--{option} takes a name, not {value!r}")
    vendor = args.mpi or find_library().vendor
    if vendor not in INTERFACES:
        raise CommandError("this MPI library is neither MPICH nor Open MPI: name one with --mpi")
    text = script(args, vendor)
    if args.output is None:
        print(text, end="")
        return 0
    try:
        Path(args.output).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot write {args.output}: {error.strerror}") from None
    print(f"wrote {args.output}; submit it with: sbatch {args.output}", file=sys.stderr)
    return 0


def script(args: argparse.Namespace, vendor: str) -> str:
    """The text of the script."""
    ranks = args.nodes * args.ntasks_per_node
    command = program(args.command)
    name = Path(args.command[0]).stem
    options = [
        f"--job-name={name}",
        f"--nodes={args.nodes}",
        f"--ntasks-per-node={args.ntasks_per_node}  # ranks on each node: {ranks} in all",
        f"--cpus-per-task={args.cpus_per_task}  # cores for each of them",
        f"--time={args.time}  # after which Slurm ends the job: minutes, H:MM:SS or D-HH",
        *([f"--partition={args.partition}"] if args.partition else []),
        *([f"--account={args.account}"] if args.account else []),
        *(["--exclusive  # no other job on these nodes"] if args.exclusive else []),
        "--output=%x-%j.out  # the job's name and number; for errors too",
    ]
    lines = [
        "#!/bin/bash",
        "# Submit with: sbatch FILE. Look with: squeue --me. End with: scancel JOB",
    ]
    lines += [f"#SBATCH {option}" for option in options]
    lines += ["set -e", ""]
    lines += _environment(args.module)
    lines += _start(args.launcher, vendor, ranks, shlex.join(command))
    return "\n".join(lines) + "\n"


def program(words: list[str]) -> list[str]:
    """The command with Python before a program's name; an exception on one rank then ends all."""
    return ["python", "-m", "mpi4py", *words] if words[0].endswith(".py") else list(words)


def _environment(modules: list[str]) -> list[str]:
    lines = []
    if modules:
        lines += [
            "# The site's software, the same as when the environment below was made.",
            f"module load {shlex.join(modules)}",
            "",
        ]
    if sys.prefix != sys.base_prefix:
        lines += [
            "# Python with mpi4py and mpicoll. All nodes must see this directory.",
            f"source {shlex.quote(str(Path(sys.prefix) / 'bin' / 'activate'))}",
        ]
    else:
        lines += [
            "# Enter the Python environment with mpi4py and mpicoll here, if there is one:",
            "# source ENVIRONMENT/bin/activate",
        ]
    return [
        *lines,
        "",
        "# Each rank has the cores it was given: NumPy must not start a thread for every core.",
        'export OMP_NUM_THREADS="${SLURM_CPUS_PER_TASK:-1}"',
        "",
    ]


def _start(launcher: str, vendor: str, ranks: int, command: str) -> list[str]:
    if launcher == "mpirun":
        lines = ["# mpirun asks Slurm for the nodes of this job and starts its helpers by srun."]
        if vendor == "mpich":
            return [*lines, f"mpirun -launcher slurm -n {ranks} {command}"]
        return [
            *lines,
            "# Open MPI passes no variables on by itself: add -x NAME for those that ranks need.",
            f"mpirun -n {ranks} {command}",
        ]
    interface = INTERFACES[vendor]
    return [
        f"# srun and the MPI library must speak the same language, here {interface}: otherwise",
        "# each rank believes to be alone. `srun --mpi=list` shows what this Slurm speaks.",
        "# If that is not in the list, use mpirun: `mpicoll slurm --launcher mpirun`.",
        f"srun --mpi={interface} {command}",
    ]
