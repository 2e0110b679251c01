"""Where a benchmark runs: what a reader must know to judge its figures."""

from __future__ import annotations

import os
import platform
import time

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
    own = (MPI.Get_processor_name(), _allowed(), cores())
    everyone = comm.allgather(own)
    hosts = [host for host, _, _ in everyone]
    fullest = max(hosts, key=hosts.count)
    available = sum({places: count for host, places, count in everyone if host == fullest}.values())
    facts = {
        "mpicoll": mpicoll.__version__,
        "date": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
        "python": platform.python_version(),
        "mpi": f"{_NAMES[vendor]} {version}" if vendor in _NAMES else text.splitlines()[0],
        "launcher": placement.launcher if placement else "none",
        "ranks": comm.Get_size(),
        "hosts": len(set(hosts)),
        "cores": available,
        "oversubscribed": hosts.count(fullest) > available,
        "busy_cores": busy,
        "settings": _settings(),
        "clock": clock_facts(),
    }
    return comm.bcast(facts)


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
