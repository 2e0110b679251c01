"""Where a parent and its ranks, maybe on several hosts, leave files for each other."""

from __future__ import annotations

import os
from pathlib import Path

from mpicoll.launch import LaunchError

__all__ = ["VARIABLE", "common_directory"]

VARIABLE = "MPICOLL_TMPDIR"


def common_directory() -> str | None:
    """The directory for files that all ranks should see; None is the usual one for temporary files.

    ``MPICOLL_TMPDIR`` names one. In an allocation of several hosts it is the working directory,
    which clusters share between their hosts, as they do not share /tmp.

    Raises:
        LaunchError: ``MPICOLL_TMPDIR`` is no directory.
    """
    if chosen := os.environ.get(VARIABLE):
        if not os.path.isdir(chosen):
            raise LaunchError(f"{VARIABLE} names {chosen!r}, which is no directory")
        return chosen
    return os.getcwd() if hosts() > 1 and os.access(os.getcwd(), os.W_OK) else None


def hosts() -> int:
    """How many hosts Slurm or PBS has given to this job; 1 outside one."""
    if (count := os.environ.get("SLURM_JOB_NUM_NODES", "")).isdigit():
        return int(count)
    try:
        return len(set(Path(os.environ["PBS_NODEFILE"]).read_text().split())) or 1
    except (KeyError, OSError):
        return 1
