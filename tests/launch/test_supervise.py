"""Real jobs that go wrong in every way: they must end soon, say why, and leave nothing behind."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from mpicoll.launch.processes import files_in_use, remove_orphaned_segments
from mpicoll.launch.supervise import run

START = """
import os, signal, sys, time
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank = comm.rank
"""


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Run a program given as text; afterwards nothing of it may be left."""

    monkeypatch.chdir(tmp_path)  # so that reports show the program's bare name

    def start(n, text, timeout=20.0, **options):
        script = tmp_path / "program.py"
        script.write_text(START + textwrap.dedent(text))
        before = segments()
        outcome = run(n, [str(script)], timeout=timeout, **options)
        assert survivors(str(script)) == []
        assert segments() - files_in_use() <= before
        return outcome

    return start


def segments():
    return set(map(str, Path("/dev/shm").glob("*")))


def survivors(word):
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_text().split("\0")
        except OSError:
            continue
        if word in command and int(entry.name) != os.getpid():
            found.append(entry.name)
    return found


def line_number(text, fragment):
    lines = (START + textwrap.dedent(text)).splitlines()
    return next(i for i, line in enumerate(lines, 1) if fragment in line)


def test_good_job_shows_rank_0_in_order_and_keeps_the_others_output(job, capfd):
    lines = []
    text = """
    for i in range(200):
        print("line", i, "of rank", rank)
    """
    outcome = job(3, text, on_line=lines.append)
    expected = [f"line {i} of rank 0" for i in range(200)]
    assert (outcome.returncode, outcome.timed_out, outcome.report) == (0, False, "")
    assert lines == expected
    assert [r.state for r in outcome.ranks] == ["finished"] * 3
    assert outcome.ranks[2].output.splitlines() == [f"line {i} of rank 2" for i in range(200)]
    out, err = capfd.readouterr()
    assert out.splitlines() == expected
    assert err == ""


def test_hang_ends_at_the_deadline_naming_each_rank_s_line(job, capfd):
    text = """
    def wait_for_two():
        comm.recv(source=0)
    def main():
        if rank == 0:
            while True:
                pass  # spins without MPI
        wait_for_two()
    main()
    """
    outcome = job(3, text, timeout=4)
    assert outcome.timed_out and outcome.returncode == 124
    assert outcome.seconds < 6
    _, err = capfd.readouterr()
    assert err == outcome.report
    waits, calls = line_number(text, "comm.recv"), line_number(text, "    wait_for_two()")
    assert f"ranks 1-2 are at program.py:{waits} in wait_for_two: comm.recv(source=0)" in err
    assert f"called from program.py:{calls} in main: wait_for_two()" in err
    assert "rank 0 is at program.py:" in err


def test_exception_on_one_rank_ends_all_with_its_traceback_last(job, capfd):
    text = """
    print("started")
    if rank == 1:
        raise ValueError("the reason")
    comm.Barrier()
    """
    outcome = job(3, text)
    assert outcome.returncode == 1 and not outcome.timed_out
    assert outcome.seconds < 10
    out, err = capfd.readouterr()
    # What mpiexec says about its own end is not of interest.
    assert out == "started\n"
    assert err.endswith("ValueError: the reason\n")
    assert err.startswith("mpicoll: rank 1 failed after")
    assert "ranks 0, 2 were at program.py:" in err
    assert "runpy" not in err and "child.py" not in err
    assert [r.state for r in outcome.ranks] == ["running", "failed", "running"]


def test_exception_before_mpi_starts(tmp_path):
    script = tmp_path / "program.py"
    script.write_text("import no_such_module")
    outcome = run(2, [str(script)], timeout=20, echo=False)
    assert outcome.returncode == 1
    assert "ranks 0-1 failed" in outcome.report
    assert outcome.report.endswith("ModuleNotFoundError: No module named 'no_such_module'\n")


def test_first_failure_is_told_first_and_shown_last(job):
    text = """
    if rank == 1:
        raise ValueError("first")
    time.sleep(0.3)
    raise KeyError("second")
    """
    report = job(2, text, echo=False).report
    assert report.startswith("mpicoll: rank 1 failed")
    assert "rank 0 also failed: KeyError: 'second'" in report
    assert report.endswith("ValueError: first\n")


def test_exit_status_of_one_rank_ends_all(job):
    outcome = job(2, "if rank == 1: sys.exit(3)\ncomm.Barrier()", echo=False)
    assert outcome.returncode == 3
    assert "rank 1 failed" in outcome.report and "sys.exit(3)" in outcome.report
    assert "rank 0 was at program.py" in outcome.report


def test_common_exit_status_is_a_verdict_not_an_accident(job, capfd):
    text = """
    comm.Barrier()
    if rank == 0:
        time.sleep(1)  # the others have left by now
        print("2 checks failed")
    sys.exit(1)
    """
    outcome = job(2, text)
    assert outcome.returncode == 1
    assert capfd.readouterr() == ("2 checks failed\n", "")


def test_killed_rank(job):
    text = """
    comm.Barrier()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    comm.Barrier()
    """
    outcome = job(2, text, echo=False)
    assert outcome.returncode == 128 + signal.SIGKILL
    assert "rank 1 failed" in outcome.report and "SIGKILL" in outcome.report


def test_crash_in_c_names_the_python_line(job):
    text = """
    import ctypes
    if rank == 1:
        ctypes.string_at(0)
    comm.Barrier()
    """
    outcome = job(2, text, echo=False)
    assert outcome.returncode == 128 + signal.SIGSEGV
    assert "Segmentation fault" in outcome.report
    assert f"program.py:{line_number(text, 'string_at')} in <module>" in outcome.report


def test_stopped_rank_does_not_stop_the_report(job):
    text = """
    if rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    comm.Barrier()
    """
    outcome = job(2, text, timeout=3, echo=False)
    assert outcome.timed_out
    assert "rank 1 is silent" in outcome.report and "rank 0 is at program.py" in outcome.report


def test_grandchildren_end_too(job):
    text = """
    import subprocess
    subprocess.Popen(["sleep", "987.5"], start_new_session=True)
    comm.Barrier()
    """
    assert job(1, text, echo=False).returncode == 0
    assert survivors("987.5") == []


def test_module_and_environment(tmp_path):
    (tmp_path / "hello.py").write_text("import os, sys; print(os.environ['WORD'], sys.argv[1:])")
    argv = ["-m", "hello", "-x", "1"]
    outcome = run(1, argv, timeout=20, env={"WORD": "hi"}, directory=tmp_path, echo=False)
    assert outcome.output == "hi ['-x', '1']\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_interrupting_the_parent_ends_the_ranks(tmp_path, number):
    script = tmp_path / "program.py"
    script.write_text(START + "print('ready')\nwhile True: pass")
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"from mpicoll.launch.supervise import run; run(2, [{str(script)!r}], timeout=60)",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    clock = time.time()
    with parent:
        assert parent.stdout.readline() == "ready\n"
        parent.send_signal(number)
        started = time.monotonic()
        assert parent.wait(15) != 0
        while survivors(str(script)) and time.monotonic() < started + 8:
            time.sleep(0.1)
    assert survivors(str(script)) == []
    remove_orphaned_segments(clock)  # a killed parent cannot
