"""`mpicoll run`: programs that do not know about us, started in every way, ending in every way."""

import pytest
from starting import start, under_mpiexec

from mpicoll.__main__ import main


def test_everything_is_ours(program):
    path = program(
        "import mpicoll\n"
        "from mpi4py.MPI import COMM_SELF\n"
        "assert type(W) is type(COMM_SELF) is MPI.Intracomm is mpicoll.Intracomm\n"
        "class Mine(MPI.Intracomm): pass\n"
        "half, cart, mine = W.Split(rank % 2), W.Create_cart([W.size]), Mine(W)\n"
        "assert type(half) is MPI.Intracomm and type(cart) is MPI.Cartcomm\n"
        "assert type(mine.Dup()) is Mine\n"
        "assert mine.allreduce([rank], algorithm='recursive_doubling') == list(range(W.size))\n"
        "assert half.allgather(rank) == list(range(rank % 2, W.size, 2))\n"
        "request = W.Iallreduce(MPI.IN_PLACE, bytearray(4))\n"
        "assert type(request) is MPI.Request\n"
        "other = W.Irecv(bytearray(1), rank)\n"
        "W.Send(bytearray(1), rank)\n"
        "MPI.Request.Waitall([other, request])\n"
    )
    done = start("-n", 2, path)
    assert done.returncode == 0, done.stderr + done.stdout


def test_isinstance_means_what_it_did(program):
    path = program(
        "parent = MPI.Comm.Get_parent()\n"
        "assert parent == MPI.COMM_NULL and isinstance(parent, MPI.Intercomm)\n"
        "assert not isinstance(parent, MPI.Intracomm) and not isinstance(W, MPI.Cartcomm)\n"
        "request = W.Isend(bytearray(1), MPI.PROC_NULL)\n"
        "assert isinstance(request, MPI.Request) and not isinstance(request, MPI.Prequest)\n"
        "assert issubclass(MPI.Cartcomm, MPI.Topocomm)\n"
        "assert issubclass(MPI.Topocomm, MPI.Intracomm)\n"
        "assert issubclass(type(request), MPI.Request) and isinstance(W, MPI.Comm)\n"
        "class Mine(MPI.Intracomm): pass\n"
        "assert isinstance(Mine(W), Mine) and not isinstance(W, Mine)\n"
        "request.Wait()\n"
    )
    done = start(path)
    assert done.returncode == 0, done.stderr + done.stdout


def test_as_python_itself(program, tmp_path):
    program("VALUE = 3\n", "beside.py", head="")
    path = program(
        "import beside, pickle\n"
        "class Thing: pass\n"
        "assert type(pickle.loads(pickle.dumps(Thing()))) is Thing\n"
        "print(__name__, sys.argv[1:], beside.VALUE, W.bcast(Thing()).__class__ is Thing)\n"
    )
    words = ["-n", "5", "--report", "-m"]
    want = f"__main__ {words} 3 True"
    assert start(path, *words).stdout.strip() == want
    assert start("-n", 1, "-m", "program", *words, cwd=tmp_path).stdout.strip() == want


def test_settings_of_mpi4py_count(program):
    path = program(
        "import mpi4py\n"
        "mpi4py.rc.initialize = False\n"
        "from mpi4py import MPI\n"
        "assert not MPI.Is_initialized()\n"
        "level = MPI.Init_thread(MPI.THREAD_FUNNELED)\n"
        "import mpicoll\n"
        "assert type(MPI.COMM_WORLD) is mpicoll.Intracomm and level == MPI.Query_thread()\n"
        "assert MPI.COMM_WORLD.allgather(1) == [1] * MPI.COMM_WORLD.size\n"
        "MPI.Finalize()\n",
        head="",
    )
    done = start("-n", 2, path)
    assert done.returncode == 0, done.stderr + done.stdout


def test_rank_0_reads_what_is_typed(program):
    path = program("print(W.bcast(input() if rank == 0 else None) * 2)\n")
    assert start("-n", 2, path, text="ab\n").stdout == "abab\nabab\n"


def test_native(program):
    path = program("assert type(W).__module__ == 'mpi4py.MPI'\nprint(W.allgather(rank))\n")
    done = start("-n", 2, "--native", path)
    assert (done.returncode, done.stdout) == (0, "[0, 1]\n[0, 1]\n"), done.stderr


def test_an_algorithm_for_a_program(program):
    path = program("W.Allreduce(bytes(8), bytearray(8))\nprint('end') if rank == 0 else None\n")
    done = start("-n", 2, "--report", path, MPICOLL_ALLREDUCE="ring")
    assert done.returncode == 0 and done.stdout.startswith("end\n")
    assert any(
        line.split()[:4] == ["allreduce", "blocking", "ring", "1"]
        for line in (done.stdout + done.stderr).splitlines()
    ), done


def test_report(program):
    path = program(
        "import numpy as np\n"
        "x, y = np.zeros(10, 'f8'), np.zeros(10, 'f8')\n"
        "for _ in range(3): W.Bcast(x)\n"
        "W.Ibcast(x).Wait()\n"
        "again = W.Bcast_init(x)\n"
        "for _ in range(2): again.Start(); again.Wait()\n"
        "again.Free()\n"
        "W.gather(b'x' * 1000)\n"
        "W.Split(0).barrier()\n"
    )
    done = start("--report", path, launcher=under_mpiexec(2))
    assert done.returncode == 0, done.stderr
    rows = [line.split()[:5] for line in done.stderr.splitlines()]
    for row in (
        ["bcast", "blocking", "binomial", "3", "240"],
        ["bcast", "non-blocking", "binomial", "1", "80"],
        ["bcast", "persistent", "binomial", "2", "160"],
        ["barrier", "blocking", "dissemination", "1", "0"],
    ):
        assert row in rows, done.stderr
    assert any(row[:4] == ["gather", "objects", "linear", "1"] and row[4] > "1" for row in rows)
    assert done.stdout == ""


def test_a_report_of_nothing(program):
    assert "none was called" in start("--report", program("")).stderr
    ended = start("--report", program("MPI.Finalize()\n"))
    assert ended.returncode == 0 and "no report" in ended.stderr


@pytest.mark.parametrize("how", ("-n", "mpiexec"))
def test_an_exception_ends_all(program, how):
    path = program("if rank == 1: raise KeyError('boom')\nW.Barrier()\n")
    done = start("-n", 2, path) if how == "-n" else start(path, launcher=under_mpiexec(2))
    text = done.stdout + done.stderr
    assert done.returncode not in (0, 124)
    assert "rank 1:\nTraceback" in text and "KeyError: 'boom'" in text
    assert "commands/run.py" not in text and "runpy" not in text
    assert text.count("KeyError('boom')") == 1


def test_exit_statuses(program):
    assert start(program("sys.exit(5)\n")).returncode == 5
    assert start("-n", 2, program("sys.exit(5)\n")).returncode == 5
    assert start("-n", 2, program("sys.exit(6 if rank else 0)\n")).returncode == 6
    assert start(program("raise ValueError\n")).returncode == 1
    assert start(program("sys.exit('words')\n")).stderr == "words\n"


def test_a_hang_is_told(program):
    path = program("import time\nif rank == 0: W.Barrier()\ntime.sleep(99)\n")
    done = start("-n", 2, "--timeout", 10, path)
    assert done.returncode == 124
    assert f"called from {path}:6 in <module>: if rank == 0: W.Barrier()" in done.stderr
    assert "rank 1 not inside MPI" in done.stderr
    assert f"at {path}:7 in <module>: time.sleep(99)" in done.stderr


@pytest.mark.parametrize(
    "words, message",
    [
        ([], "which program"),
        (["-m"], "which program"),
        (["none.py"], "no such program: none.py"),
        (["-n", "0", __file__], "at least 1"),
        (["--timeout", "3", __file__], "needs -n"),
        (["-n", "1", "--timeout", "0", __file__], "above 0"),
        (["--native", "--report", __file__], "leaves them off"),
    ],
)
def test_wrong_usage(capfd, words, message):
    assert main(["run", *words]) == 2
    assert message in capfd.readouterr().err


def test_n_within_a_job(capfd, monkeypatch):
    monkeypatch.setenv("PMI_RANK", "0")
    monkeypatch.setenv("PMI_SIZE", "1")
    assert main(["run", "-n", "2", __file__]) == 2
    assert "one of a job already" in capfd.readouterr().err
