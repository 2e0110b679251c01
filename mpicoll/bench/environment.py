"""Where a benchmark runs: what a reader must know to judge its figures."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

from mpi4py import MPI

import mpicoll
from mpicoll.bench.timing import clock_facts
from mpicoll.launch.command import cores, started_by_launcher
from mpicoll.launch.library import vendor_of
from mpicoll.registry import collectives

__all__ = ["environment"]

_NAMES = {"mpich": "MPICH", "openmpi": "Open MPI"}


def environment(comm: MPI.Intracomm, busy: float | None) -> dict[str, object]:
    """The facts, the same on every rank; collective. `busy` is from `busy_cores`."""
    text = MPI.Get_library_version()
    vendor, version = vendor_of(text)
    placement = started_by_launcher()
    # Ranks may be bound to a core each: what they may use together is what counts.
    own = (_machine(), _allowed(), cores())
    everyone = comm.allgather(own)
    machines = [machine for machine, _, _ in everyone]
    fullest = max(machines, key=machines.count)
    available = sum(
        {places: count for where, places, count in everyone if where == fullest}.values()
    )
    hosts = comm.allgather(MPI.Get_processor_name())
    facts = {
        "mpicoll": mpicoll.__version__,
        "date": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
        "python": platform.python_version(),
        "mpi": f"{_NAMES[vendor]} {version}" if vendor in _NAMES else text.splitlines()[0],
        "launcher": placement.launcher if placement else "none",
        "ranks": comm.Get_size(),
        "hosts": len(set(hosts)),
        "machines": len(set(machines)),
        "cores": available,
        "oversubscribed": machines.count(fullest) > available,
        "busy_cores": busy,
        "settings": _settings(),
        "clock": clock_facts(),
    }
    return comm.bcast(facts)


def _machine() -> str:
    """What hosts that share cores have in common: containers and namespaces have own names."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        return MPI.Get_processor_name()


def _settings() -> dict[str, str]:
    """Variables of the environment that change how collectives or messages are performed."""
    ours = ("MPICOLL_SELECTOR", "MPICOLL_TUNING", "MPICOLL_PROGRESS")
    ours += tuple(f"MPICOLL_{name.upper()}" for name in collectives())
    theirs = ("MPIR_CVAR_", "UCX_", "FI_")  # Open MPI's are set by its launcher in any case
    return {k: v for k, v in sorted(os.environ.items()) if k in ours or k.startswith(theirs)}


def _allowed() -> tuple[int, ...]:
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))
