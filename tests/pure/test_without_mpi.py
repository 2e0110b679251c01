"""The package without an MPI library, and what importing it costs."""

import json
import os
import subprocess
import sys

import pytest

NO_MPI4PY = "import sys; sys.modules['mpi4py'] = None; "
COMMANDS = (
    ["list"],
    ["list", "allreduce"],
    ["show", "allreduce", "ring"],
    ["prove", "allreduce", "ring", "--sizes", "1-5"],
    ["emit", "allreduce", "ring"],
    ["cost", "allreduce", "-p", "4", "--bytes", "1MiB"],
    ["why", "allreduce", "-p", "4", "--bytes", "1KiB"],
    ["--version"],
)


def python(code: str, **environment: str) -> subprocess.CompletedProcess:
    """Run a program in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("lacking", ("mpi4py", "the library"))
def test_commands_that_need_no_mpi_work_without(words, lacking):
    main = f"from mpicoll.__main__ import main; raise SystemExit(main({words!r}))"
    if lacking == "mpi4py":
        ended = python(NO_MPI4PY + main)
    else:
        ended = python(main, MPI4PY_LIBMPI="/no/such/library")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout and "Traceback" not in ended.stderr


def test_commands_that_need_mpi_say_what_is_missing():
    code = "from mpicoll.__main__ import main; raise SystemExit(main(['check', '-n', '2']))"
    ended = python(code, MPI4PY_LIBMPI="/no/such/library")
    assert ended.returncode == 3
    assert "pip install" in ended.stderr and "Traceback" not in ended.stderr


def test_the_package_imports_without_mpi_and_names_its_parts():
    code = NO_MPI4PY + (
        "import mpicoll; from mpicoll import algorithm, RequirementError; "
        "print('Intracomm' in dir(mpicoll), algorithm.__module__)"
    )
    assert python(code).stdout.split() == ["True", "mpicoll.registry"]
    error = python("import mpicoll; mpicoll.Intracomm", MPI4PY_LIBMPI="/no/such/library")
    assert error.returncode and "cannot load MPI library" in error.stderr


def imported_by(statement: str, before: str = "pass") -> list[str]:
    """The modules that a statement imports, beyond those that `before` did."""
    code = (
        f"import json, sys\n{before}\nold = set(sys.modules)\n{statement}\n"
        "print(json.dumps(sorted(set(sys.modules) - old)))"
    )
    return json.loads(python(code).stdout)


def test_importing_is_light():
    """Modules are counted, not milliseconds: they do not depend on the machine's mood."""
    new = imported_by("import mpicoll")
    assert [name for name in new if name.partition(".")[0] in ("mpi4py", "numpy")] == []
    assert len(new) < 15, new


def test_the_communicators_need_little_beyond_numpy_and_mpi4py():
    new = imported_by("import mpicoll; mpicoll.Intracomm", "import numpy; from mpi4py import MPI")
    parts = {name.split(".")[1] for name in new if name.startswith("mpicoll.")}
    assert not parts & {"analysis", "bench", "check", "commands", "launch", "show"}, parts
    others = [name for name in new if name.partition(".")[0] != "mpicoll"]
    heavy = {"asyncio", "http", "matplotlib", "multiprocessing", "pytest", "torch", "unittest"}
    assert not heavy & {name.partition(".")[0] for name in others}, others
    assert len(new) < 120, new
