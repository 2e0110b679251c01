"""The protections of a program that its user starts under mpiexec, without our parent process."""

import os
import subprocess
import sys
import time

import pytest

from mpicoll.launch.child import __file__ as CHILD
from mpicoll.launch.child import launched_rank
from mpicoll.launch.command import clean_environment, mpiexec_command
from mpicoll.launch.library import find_launcher, find_library
from mpicoll.launch.processes import remove_orphaned_segments


def mpiexec(n, *words):
    """Run the words on n ranks by the launcher alone; return status and output."""
    launcher = find_launcher(find_library())
    command, added = mpiexec_command(n, [sys.executable, *words], launcher)
    environment = clean_environment() | added
    environment.pop("MPICOLL_REPORT", None)
    started = time.time()
    done = subprocess.run(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=30,
        check=False,
    )
    remove_orphaned_segments(started)
    return done.returncode, done.stdout


def test_unsupervised_child_aborts_with_the_rank_s_traceback(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "from mpi4py import MPI\n"
        "if MPI.COMM_WORLD.rank == 1: raise ValueError('the reason')\n"
        "MPI.COMM_WORLD.Barrier()\n"
    )
    status, output = mpiexec(2, CHILD, "--", str(script))
    assert status != 0
    assert "rank 1:\nTraceback" in output and "ValueError: the reason" in output


def test_guard_names_the_places_at_the_deadline(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "from mpi4py import MPI\n"
        "from mpicoll.launch.child import guard\n"
        "with guard(2):\n"
        "    if MPI.COMM_WORLD.rank: MPI.COMM_WORLD.recv(source=0)\n"
        "MPI.COMM_WORLD.Barrier()\n"
    )
    status, output = mpiexec(2, str(script))
    assert status == 124
    assert f"no end after 2 s: rank 1 is at {script}:4 in <module>" in output


def test_guard_ends_all_after_an_exception(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "from mpi4py import MPI\n"
        "from mpicoll.launch.child import guard\n"
        "guard(20)\n"
        "if MPI.COMM_WORLD.rank: raise ValueError('the reason')\n"
        "MPI.COMM_WORLD.Barrier()\n"
    )
    status, output = mpiexec(2, str(script))
    assert status != 0
    assert "ValueError: the reason" in output


@pytest.mark.parametrize("name", ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"])
def test_launched_rank(monkeypatch, name):
    for known in list(os.environ):
        if known.startswith(("OMPI_COMM_WORLD_", "PMI", "SLURM_")):
            monkeypatch.delenv(known)
    assert launched_rank() is None
    monkeypatch.setenv(name, "3")
    assert launched_rank() == 3
