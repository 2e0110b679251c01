"""The command line that starts ranks, and whether this process is itself such a rank."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from mpicoll.launch import LaunchError
from mpicoll.launch.child import RANK_VARIABLES, launched_rank
from mpicoll.launch.library import Launcher

__all__ = ["Placement", "check_world", "cores", "mpiexec_command", "started_by_launcher"]

# What a launcher tells its ranks: left in place, it would make a nested mpiexec join that job.
JOB_VARIABLES = ("PMI_", "PMIX_", "PRTE_", "OMPI_COMM_WORLD_", "OMPI_UNIVERSE_", "MPI_LOCAL")
#: A process's rank and the number of processes, as srun calls them.
STEP = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")
SETTINGS = ("PRTE_MCA_", "PMIX_MCA_")


@dataclass(frozen=True)
class Placement:
    """What the launcher told this process: its rank and the number of ranks."""

    launcher: str
    rank: int
    size: int


def started_by_launcher() -> Placement | None:
    """Tell how mpiexec or srun started this process, without importing MPI; None if neither did."""
    for rank_name, (size_name, launcher) in RANK_VARIABLES.items():
        if rank_name in os.environ and size_name in os.environ:
            # srun sets the variables of MPICH's launcher too, where it speaks pmi2.
            ours = [os.environ.get(name) for name in (rank_name, size_name)]
            if ours == [os.environ.get(name) for name in STEP]:
                launcher = "srun"
            return Placement(launcher, launched_rank() or 0, int(os.environ[size_name]))
    return None


def check_world(size: int) -> None:
    """Compare the world size MPI reports with what the launcher started.

    Raises:
        LaunchError: several ranks were started but each believes to be alone: the launcher
            belongs to another MPI library, or srun speaks another process interface.
    """
    placement = started_by_launcher()
    if placement is None or placement.size == size or size != 1:
        return
    if placement.launcher == "srun":
        advice = "start with `srun --mpi=pmix` (Open MPI) or `srun --mpi=pmi2` (MPICH)"
    else:
        advice = "the launcher belongs to another MPI library than the one mpi4py loads"
    raise LaunchError(
        f"{placement.launcher} started {placement.size} processes, "
        f"but each of them is alone in its MPI.COMM_WORLD: {advice}"
    )


def cores() -> int:
    """Count the physical cores this process may use, which is how Open MPI counts its slots."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    found = set()
    for cpu in allowed:
        topology = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")
        try:
            package = (topology / "physical_package_id").read_text()
            found.add((package, (topology / "core_id").read_text()))
        except OSError:
            found.add((cpu, cpu))
    return len(found) or os.cpu_count() or 1


def mpiexec_command(
    n: int, program: list[str], launcher: Launcher, *, available: int | None = None
) -> tuple[list[str], dict[str, str]]:
    """Build the command that starts ``program`` on ``n`` ranks, and variables to add to its env.

    ``available`` is the number of cores (default: as counted by ``cores``); more ranks than that
    are allowed, and then not bound to cores, where two ranks could be bound to the same one.
    """
    if n < 1:
        raise ValueError(f"the number of ranks must be at least 1, got {n}")
    options: list[str] = []
    added: dict[str, str] = {}
    if launcher.vendor == "openmpi":
        if n > (cores() if available is None else available):
            old = launcher.version.split(".")[0] in {"1", "2", "3", "4"}
            options += ["--oversubscribe"] if old else ["--map-by", ":OVERSUBSCRIBE"]
            options += ["--bind-to", "none"]
        if os.geteuid() == 0:
            added |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return [launcher.path, "-n", str(n), *options, *program], added


def clean_environment() -> dict[str, str]:
    """Copy the environment without what an outer launcher put there for its own ranks.

    Settings of Open MPI's runtime are the user's where no launcher has started this process.
    """
    settings = SETTINGS if started_by_launcher() is None else ()
    return {
        k: v
        for k, v in os.environ.items()
        if k.startswith(settings) or not k.startswith(JOB_VARIABLES)
    }
