"""Under Slurm: `srun`, `mpirun` in an allocation, our own launching there, and batch scripts.

What is marked big runs with `make slurm` only.
"""

import json
import sys
from pathlib import Path

import pytest

from mpicoll.commands.slurm import INTERFACES
from mpicoll.launch.library import find_library

MPICOLL = [sys.executable, "-m", "mpicoll"]
BIN = Path(sys.executable).parent
VENDOR = find_library().vendor
TIMEOUT = 300

PROGRAM = """
import sys
from mpi4py import MPI
world = MPI.COMM_WORLD
everyone = world.allgather((world.rank, MPI.Get_processor_name()))
if world.rank == world.size - 1 and sys.argv[1:] == ["fail"]:
    raise RuntimeError("this rank fails")
total = world.allreduce(world.rank)
if world.rank == 0:
    print(world.size, total, sorted({host for _, host in everyone}), type(world).__module__)
"""
#: What the program prints on 4 ranks, on mpicoll's communicators.
SAID = "4 6 ['h1', 'h2'] mpicoll."


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


@pytest.fixture
def srun(slurm):
    """The words that start ranks by srun, where it speaks the language of the MPI library."""
    interface = INTERFACES[VENDOR]
    tried = slurm.call(["srun", f"--mpi={interface}", "-n1", "true"], timeout=60)
    if tried.returncode:
        needs = " (on Debian: apt install libpmix-dev)" if interface == "pmix" else ""
        pytest.skip(f"this Slurm does not speak {interface}{needs}: {tried.stderr.splitlines()[0]}")
    return ["srun", f"--mpi={interface}", "-n4"]


@pytest.fixture
def mpirun():
    """The words that start ranks by the MPI library's mpirun in an allocation."""
    words = ["-launcher", "slurm"] if VENDOR == "mpich" else []
    return ["salloc", "-n4", str(BIN / "mpirun"), *words, "-n", "4"]


def good(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_check_by_srun(slurm, srun):
    before = slurm.traffic()
    said = good(slurm.call([*srun, *MPICOLL, "check", "bcast", "reduce"], timeout=TIMEOUT))
    assert "P = 4" in said and "nodes 2x2" in said and "all passed" in said
    assert said.count("P = 4") == 1, "each rank was alone"
    assert slurm.traffic()["h2"].sent - before["h2"].sent > 100_000


@pytest.mark.big
def test_bench_by_srun(slurm, srun, tmp_path):
    file = tmp_path / "bench.json"
    words = ["bench", "allreduce", "--sizes", "8,64K", "--json", str(file)]
    words += ["--seconds-per-size", "0.2"]
    said = good(slurm.call([*srun, *MPICOLL, *words], timeout=TIMEOUT))
    assert "launcher: srun" in said and "4 on 2 hosts" in said
    environment = json.loads(file.read_text())["environment"]
    assert (environment["ranks"], environment["hosts"]) == (4, 2)


@pytest.mark.big
def test_run_by_srun(slurm, srun, program):
    assert good(slurm.call([*srun, *MPICOLL, "run", program], timeout=TIMEOUT)).startswith(SAID)


def test_one_rank_that_fails_ends_all_of_srun(slurm, srun, program):
    done = slurm.call([*srun, *MPICOLL, "run", program, "fail"], timeout=TIMEOUT)
    assert done.returncode != 0
    assert "rank 3:" in done.stderr and "RuntimeError: this rank fails" in done.stderr
    assert not slurm.processes()


def test_srun_that_speaks_another_language(slurm):
    done = slurm.call(["srun", "--mpi=none", "-n2", *MPICOLL, "check", "bcast"], timeout=TIMEOUT)
    assert done.returncode != 0
    assert f"srun --mpi={INTERFACES[VENDOR]}" in done.stderr or "PMIx" in done.stderr


@pytest.mark.big
def test_run_by_mpirun_in_an_allocation(slurm, mpirun, program):
    said = good(slurm.call([*mpirun, *MPICOLL, "run", program], timeout=TIMEOUT))
    assert said.startswith(SAID)


@pytest.mark.big
def test_check_and_bench_by_mpirun_in_an_allocation(slurm, mpirun, tmp_path):
    said = good(slurm.call([*mpirun, *MPICOLL, "check", "allgather"], timeout=TIMEOUT))
    assert "nodes 2x2" in said and "all passed" in said
    words = ["bench", "bcast", "--sizes", "8", "--seconds-per-size", "0.2"]
    said = good(slurm.call([*mpirun, *MPICOLL, *words], timeout=TIMEOUT))
    assert "4 on 2 hosts" in said


def test_mpicoll_starts_ranks_in_an_allocation(slurm, program):
    salloc = ["salloc", "-n4", *MPICOLL]
    assert good(slurm.call([*salloc, "run", "-n", "4", program], timeout=TIMEOUT)).startswith(SAID)
    said = good(slurm.call([*salloc, "check", "-n", "4", "bcast"], timeout=TIMEOUT))
    assert "nodes 2x2" in said and "all passed" in said
    done = slurm.call([*salloc, "run", "-n", "4", program, "fail"], timeout=TIMEOUT)
    assert done.returncode == 1
    assert "rank 3 failed" in done.stderr and "RuntimeError: this rank fails" in done.stderr
    assert not slurm.processes()


@pytest.mark.parametrize("launcher", ["srun", pytest.param("mpirun", marks=pytest.mark.big)])
def test_a_batch_script(slurm, tmp_path, program, launcher, request):
    if launcher == "srun":
        request.getfixturevalue("srun")
    file = tmp_path / "job.sh"
    words = ["slurm", "--launcher", launcher, "-o", str(file), "--", "mpicoll", "run", program]
    good(slurm.mpicoll(*words, timeout=60))
    submit = ["bash", "-c", f"cd {tmp_path} && sbatch --wait {file}"]
    done = slurm.call(submit, timeout=TIMEOUT)
    [output] = tmp_path.glob("mpicoll-*.out")
    assert done.returncode == 0, output.read_text() + done.stderr
    assert SAID in output.read_text()


@pytest.mark.big
def test_the_whole_check_by_srun(slurm, srun):
    assert "all passed" in good(slurm.call([*srun, *MPICOLL, "check"], timeout=1800))


@pytest.mark.big
def test_the_whole_check_by_mpirun(slurm, mpirun):
    assert "all passed" in good(slurm.call([*mpirun, *MPICOLL, "check"], timeout=1800))
