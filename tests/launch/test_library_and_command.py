"""Finding the MPI library and its launcher, and the command lines made from them."""

import os
import sys

import pytest

from mpicoll.launch import LaunchError
from mpicoll.launch.command import (
    check_world,
    clean_environment,
    mpiexec_command,
    started_by_launcher,
)
from mpicoll.launch.library import Launcher, Library, find_launcher, find_library, vendor_of
from mpicoll.launch.place import common_directory

MPICH = Library("mpich", "5.0.2", (4, 1), "/nowhere/lib/libmpi.so.12", "MPICH")
OPENMPI = Launcher("/opt/bin/mpiexec", "openmpi", "5.0.11")


@pytest.mark.parametrize(
    ("text", "vendor", "version"),
    [
        ("MPICH Version:      5.0.2\nMPICH Release date: ...", "mpich", "5.0.2"),
        ("HYDRA build details:\n    Version:                  4.3.0\n", "mpich", "4.3.0"),
        ("Open MPI v5.0.11, package: Open MPI user", "openmpi", "5.0.11"),
        ("mpiexec (Open MPI) 5.0.11\n\nReport bugs to", "openmpi", "5.0.11"),
        ("mpirun (Open MPI) 4.1.4", "openmpi", "4.1.4"),
        ("mpiexec (OpenRTE) 4.1.4", "openmpi", "4.1.4"),
        ("Intel(R) MPI Library 2021.13 for Linux* OS, MPICH derived", "other", ""),
        ("usage: something", "other", ""),
    ],
)
def test_vendor_of(text, vendor, version):
    assert vendor_of(text) == (vendor, version)


def test_library_and_launcher_of_this_environment_belong_together():
    library = find_library()
    assert library.vendor in {"mpich", "openmpi", "other"}
    assert library.version and os.path.exists(library.path)
    launcher = find_launcher(library)
    assert launcher.vendor == library.vendor
    assert "mpi4py.MPI" not in sys.modules, "the library must be found without importing MPI here"


def python_saying(tmp_path, message):
    """An interpreter that fails as one without mpi4py, or without an MPI library, does."""
    path = tmp_path / "python"
    path.write_text(f'#!/bin/sh\necho "{message}" >&2\nexit 1\n')
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        ("ModuleNotFoundError: No module named 'mpi4py'", "pip install mpi4py mpich"),
        ("RuntimeError: cannot load MPI library", "pip install mpich"),
        ("SyntaxError: odd", "SyntaxError: odd"),
    ],
)
def test_missing_library(tmp_path, message, advice):
    with pytest.raises(LaunchError, match=advice):
        find_library(python_saying(tmp_path, message))


@pytest.fixture
def empty_path(monkeypatch, tmp_path):
    """Only the launchers that the test makes can be found."""
    monkeypatch.delenv("MPICOLL_MPIEXEC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))

    def launcher(name, says):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\necho '{says}'\n")
        path.chmod(0o755)
        return str(path)

    return launcher


def test_no_launcher(empty_path):
    with pytest.raises(LaunchError, match=r"MPICH 5\.0\.2 .*no mpiexec beside it"):
        find_launcher(MPICH)


def test_launcher_of_another_library_is_refused(empty_path):
    path = empty_path("mpiexec", "mpiexec (Open MPI) 5.0.11")
    with pytest.raises(LaunchError, match=f"MPICH.*another's: {path} .Open MPI 5.0.11"):
        find_launcher(MPICH)


def test_launcher_is_found_under_its_distribution_name(empty_path):
    empty_path("mpiexec", "mpiexec (Open MPI) 4.1.4")
    path = empty_path("mpiexec.mpich", "HYDRA build details:\n Version: 4.0.2")
    assert find_launcher(MPICH) == Launcher(path, "mpich", "4.0.2")


def test_launcher_named_by_the_environment(empty_path, monkeypatch):
    monkeypatch.setenv("MPICOLL_MPIEXEC", "no-such-launcher")
    with pytest.raises(LaunchError, match="MPICOLL_MPIEXEC names 'no-such-launcher'"):
        find_launcher(MPICH)


def test_mpich_needs_no_options():
    command, added = mpiexec_command(8, ["a"], Launcher("m", "mpich", "5.0"), available=2)
    assert command == ["m", "-n", "8", "a"] and added == {}


@pytest.mark.parametrize(
    ("n", "version", "options"),
    [
        (2, "5.0.11", []),
        (3, "5.0.11", ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"]),
        (3, "4.1.4", ["--oversubscribe", "--bind-to", "none"]),
    ],
)
def test_open_mpi_is_allowed_more_ranks_than_cores(n, version, options):
    launcher = Launcher("m", "openmpi", version)
    command, _ = mpiexec_command(n, ["a"], launcher, available=2)
    assert command == ["m", "-n", str(n), *options, "a"]


def test_open_mpi_runs_as_root(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    names = {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"}
    assert set(mpiexec_command(1, ["a"], OPENMPI)[1]) == names
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert mpiexec_command(1, ["a"], OPENMPI)[1] == {}


def test_zero_ranks():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        mpiexec_command(0, ["a"], OPENMPI)


@pytest.fixture
def plain_environment(monkeypatch):
    for name in list(os.environ):
        if name.startswith(("OMPI_", "PMI", "SLURM_")):
            monkeypatch.delenv(name)
    return monkeypatch.setenv


def test_not_launched(plain_environment):
    assert started_by_launcher() is None
    check_world(1)


def test_batch_script_under_slurm_is_not_a_rank(plain_environment):
    plain_environment("SLURM_PROCID", "0")
    plain_environment("SLURM_NTASKS", "4")
    assert started_by_launcher() is None


def test_singletons_under_srun(plain_environment):
    plain_environment("SLURM_PROCID", "2")
    plain_environment("SLURM_STEP_NUM_TASKS", "4")
    placement = started_by_launcher()
    assert (placement.launcher, placement.rank, placement.size) == ("srun", 2, 4)
    check_world(4)
    with pytest.raises(LaunchError, match=r"srun started 4 processes.*--mpi=pmix"):
        check_world(1)


def test_srun_that_speaks_pmi2_is_no_mpiexec(plain_environment):
    for name, value in (("PMI_RANK", "2"), ("PMI_SIZE", "4"), ("SLURM_PROCID", "2")):
        plain_environment(name, value)
    plain_environment("SLURM_STEP_NUM_TASKS", "4")
    assert started_by_launcher().launcher == "srun"
    plain_environment("SLURM_STEP_NUM_TASKS", "2")  # of mpiexec's helpers, one on each node
    assert started_by_launcher().launcher == "mpiexec"


def test_the_user_s_settings_are_kept_outside_a_job(plain_environment):
    plain_environment("PRTE_MCA_plm_ssh_agent", "rsh")
    plain_environment("PMIX_SERVER", "x")
    assert clean_environment()["PRTE_MCA_plm_ssh_agent"] == "rsh"
    assert "PMIX_SERVER" not in clean_environment()
    plain_environment("PMI_RANK", "0")
    plain_environment("PMI_SIZE", "2")
    assert "PRTE_MCA_plm_ssh_agent" not in clean_environment()


def test_reports_go_where_all_hosts_see_them(plain_environment, tmp_path, monkeypatch):
    monkeypatch.delenv("PBS_NODEFILE", raising=False)
    monkeypatch.delenv("MPICOLL_TMPDIR", raising=False)
    monkeypatch.chdir(tmp_path)
    assert common_directory() is None
    plain_environment("SLURM_JOB_NUM_NODES", "1")
    assert common_directory() is None
    plain_environment("SLURM_JOB_NUM_NODES", "2")
    assert common_directory() == str(tmp_path)
    monkeypatch.delenv("SLURM_JOB_NUM_NODES")
    (tmp_path / "nodes").write_text("a\na\nb\n")
    plain_environment("PBS_NODEFILE", str(tmp_path / "nodes"))
    assert common_directory() == str(tmp_path)
    plain_environment("MPICOLL_TMPDIR", "/")
    assert common_directory() == "/"
    plain_environment("MPICOLL_TMPDIR", "/nonexistent")
    with pytest.raises(LaunchError, match="MPICOLL_TMPDIR names '/nonexistent'"):
        common_directory()


def test_singletons_under_the_wrong_mpiexec(plain_environment):
    plain_environment("PMI_RANK", "0")
    plain_environment("PMI_SIZE", "2")
    with pytest.raises(LaunchError, match="another MPI library"):
        check_world(1)
