"""Planted hangs and what is said about them, calls that differ, records of killed jobs."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from starting import start, under_mpiexec

from mpicoll.__main__ import main
from mpicoll.diagnosis.reading import read_records
from mpicoll.launch.command import clean_environment

HEAD = """
import numpy as np
size = W.Get_size()
right, left = (rank + 1) % size, (rank - 1) % size
big, small = np.zeros(10**6), np.zeros(4)
W.Barrier()
W.Send(small, right)
W.Recv(small, left)
print("begun", flush=True)
"""

# A program, and what must be said about it; line 1 is its first.
HANGS = {
    "all send first": (
        "W.Send(big, right, 3)\nW.Recv(big, left, 3)\n",
        [
            "wait for each other in a circle, 0 -> 1",
            "Send to rank 1 (tag 3, 8 MB)",
            "All of them send before they receive",
            "program.py:14 in <module>: W.Send(big",
        ],
    ),
    "all receive first": (
        "x = W.recv(source=left)\nW.send(1, right)\n",
        ["All of them receive before they send", "recv from rank 1 (any tag)"],
    ),
    "wrong tag": (
        "W.Send(small, 1, 1) if rank == 0 else W.Recv(small, 0, 2) if rank == 1 else None\n",
        [
            "rank 1 waits in Recv from rank 0 (tag 2, 32 bytes)",
            "rank 0 sent tag 1, not 2",
            "program.py:14",
        ],
    ),
    "wrong source": (
        "if rank == 0: W.Ssend(small, 1)\nif rank == 1: W.Recv(small, 1)\n",
        ["rank 1 waits for itself", "but it is rank 0 that sends it one with this tag"],
    ),
    "requests": (
        "q = [W.Irecv(small, left, 5), W.Isend(big, right, 6)]\nMPI.Request.Waitall(q)\n",
        [
            "rank 1 waits in Irecv from rank 0 (tag 5, 32 bytes)",
            "sends tag 6, not 5",
            "at /",
            "Isend to rank 1 (tag 6, 8 MB)",
        ],
    ),
    "one does not call": (
        "if rank != 1: W.Allreduce(small, small.copy())\n",
        [
            "rank 1 has not called Allreduce(dtype float64, count 4, op SUM), collective 2",
            "rank 1 finished the program",
        ],
    ),
    "different roots": (
        "W.Gather(small, np.zeros(4 * size), root=min(rank, 1))\nW.Barrier()\nW.Barrier()\n",
        ["different roots in Gather, collective 2 on COMM_WORLD", "rank 0 calls Gather(root 0"],
    ),
    "a barrier and a message": (
        "half = W.Split(0, -rank)\nif rank == 1: half.Recv(small, size - 1, 9)\nW.Barrier()\n",
        [
            "rank 1 has not called Barrier(), collective 2",
            "rank 1 waits in Recv from rank 0 (tag 9",
            "communicator 1 of ranks 0-",
        ],
    ),
    "a started collective": (
        "if rank != 1: W.Ibarrier().Wait()\nelse: W.Recv(small, 0, 7)\n",
        ["rank 1 has not called Ibarrier(), collective 2", "Recv from rank 0 (tag 7"],
    ),
    "one computes": (
        "import time\nif rank == 0: time.sleep(200)\nW.Recv(small, 0) if rank else None\n",
        ["wait", "for rank 0, which is not inside MPI: it is at", "time.sleep(200)"],
    ),
}


def hanging(n, *words):
    """The report on a job that hangs: with more patience if it has not begun by the deadline."""
    for timeout in (4, 20, 60):
        done = start("-n", n, "--timeout", timeout, *words)
        if done.stdout.count("begun") == n:
            break
    assert done.returncode == 124, done.stdout + done.stderr
    return done.stderr


@pytest.mark.parametrize("name", HANGS)
def test_a_hang(program, name):
    text, expected = HANGS[name]
    report = hanging(2 if name in ("wrong tag", "wrong source") else 3, program(HEAD + text))
    for words in expected:
        assert words in report, report
    assert "mpicoll/diagnosis" not in report


@pytest.mark.parametrize("name", ["all send first", "requests", "different roots"])
def test_a_hang_on_native_collectives(program, name):
    text, expected = HANGS[name]
    report = hanging(3, "--native", program(HEAD + text))
    for words in expected:
        assert words in report, report


def test_watched_programs_do_what_they_did(program):
    """All noting methods, with results; natively too."""
    path = program(
        HEAD + "a, b = np.full(3, float(rank)), np.zeros(3)\n"
        "s = MPI.Status()\n"
        "W.Sendrecv(a, right, 1, b, left, 1, status=s)\n"
        "assert (b == left).all() and s.Get_source() == left\n"
        "assert W.sendrecv(rank, right, source=left) == left\n"
        "W.Sendrecv_replace(b, right, source=left)\n"
        "q = [W.irecv(source=left, tag=2), W.isend(rank, right, tag=2)]\n"
        "assert MPI.Request.waitall(q)[0] == left\n"
        "q = [W.Irecv(b, MPI.ANY_SOURCE, 3), W.Isend(a, right, 3)]\n"
        "st = []\n"
        "MPI.Request.Waitall(q, st)\n"
        "assert (b == left).all() and st[0].Get_source() == left and q[0] == MPI.REQUEST_NULL\n"
        "q = [W.Irecv(b, left, 4), W.Irecv(b, MPI.PROC_NULL)]\n"
        "W.Send(buf=a, dest=right, tag=4)\n"
        "done = {MPI.Request.Waitany(q), MPI.Request.Waitany(q)}\n"
        "assert done == {0, 1} and MPI.Request.Waitany(q) == MPI.UNDEFINED\n"
        "r = W.isend(obj=[rank], dest=right)\n"
        "W.Probe(left)\n"
        "assert W.mprobe(left).recv() == [left]\n"
        "r.wait()\n"
        "r = W.irecv(source=left)\n"
        "W.ssend(rank, right) if rank % 2 else None\n"
        "W.send(rank, right) if rank % 2 == 0 else None\n"
        "while True:\n"
        "    flag, x = r.test()\n"
        "    if flag: break\n"
        "assert x == left and isinstance(r, MPI.Request)\n"
        "half = W.Split(rank % 2)\n"
        "assert half.allgather(rank) == list(range(rank % 2, size, 2))\n"
        "q = W.Ibcast(a, 0)\n"
        "q.Wait()\n"
        "assert (a == 0).all() and W.allreduce(1) == size\n"
        "try: W.Send(a, size + 5)\n"
        "except MPI.Exception: pass\n"
        "else: raise AssertionError\n"
        "W.barrier()\n"
    )
    for words in ([], ["--native"]):
        done = start("-n", 2, "--timeout", 100, *words, path)
        assert done.returncode == 0, done.stderr


def test_without_a_parent(program):
    text = HEAD + HANGS["wrong tag"][0] + "W.Barrier()\n"
    for timeout in ("5", "20", "60"):
        done = start(program(text), launcher=under_mpiexec(2), MPICOLL_TIMEOUT=timeout)
        if done.stdout.count("begun") == 2:
            break
    assert done.returncode
    said = done.stdout + done.stderr
    assert f"no end after {timeout} s" in said and "rank 0 sent tag 1, not 2" in said


def test_calls_that_differ(program):
    done = start("-n", 3, "--check", program(HEAD + "W.Bcast(small, root=min(rank, 1))\n"))
    assert done.returncode == 1
    assert "MismatchError: different roots in Bcast, collective 2 on COMM_WORLD" in done.stderr
    assert "ranks 1-2 call Bcast(root 1, dtype float64, count 4) at" in done.stderr
    assert "ranks 0-2 failed" in done.stderr  # all of them raised


def test_a_program_that_ends_before_the_others(program):
    done = start("-n", 2, "--check", program(HEAD + "if rank: W.Barrier()\n"))
    assert done.returncode == 1 and "rank 0 has ended the program" in done.stderr


def test_slow_ranks_are_named(program):
    text = HEAD + "import time\nif rank: time.sleep(300)\nW.Barrier()\n"
    done = start("-n", 2, "--check", program(text), MPICOLL_CHECK_TIMEOUT="1")
    assert done.returncode == 1 and "rank 1 has not called Barrier()" in done.stderr
    assert "rank 1 was at" in done.stderr and "time.sleep(300)" in done.stderr


def test_autopsy_of_a_killed_job(program, tmp_path, capsys):
    """SIGKILL on a rank inside a collective: its record is there."""
    records = tmp_path / "records"
    text = HEAD + (
        "import os, signal, time\n"
        "W.Bcast(small, root=1)\n"
        "if rank == 0: time.sleep(1); os.kill(os.getpid(), signal.SIGKILL)\n"
        "W.Allreduce(small, small.copy())\n"
    )
    done = start("-n", 3, "--flight", str(records), program(text))
    assert done.returncode not in (0, 124), done.stderr
    assert main(["autopsy", str(records), "--last", "2"]) == 1
    said = capsys.readouterr().out
    assert "rank 0 has not called Allreduce(dtype float64, count 4, op SUM), collective 3" in said
    assert "Bcast 2" in said and "in Allreduce" in said
    assert main(["autopsy", str(records), "--json", "-"]) == 1
    merged = json.loads(capsys.readouterr().out)
    entry = merged["ranks"][1]["entries"][-1]
    assert (entry["profiling_name"], entry["collective_seq_id"]) == ("Allreduce", 3)
    assert entry["state"] == "started" and entry["input_sizes"] == [[4]]
    assert entry["input_dtypes"] == ["float64"] and entry["process_group"] == "COMM_WORLD"
    assert entry["frames"][0]["filename"].endswith("program.py") and not entry["retired"]


def test_a_look_at_a_living_job_and_its_end_by_a_signal(program, tmp_path, capsys):
    records = tmp_path / "records"
    text = HEAD + "if rank == 0: W.Recv(small, 1, 3)\nelse: W.Barrier()\n"
    command = [*under_mpiexec(2), sys.executable, "-m", "mpicoll", "run", program(text)]
    job = subprocess.Popen(
        command,
        env=clean_environment() | {"MPICOLL_FLIGHT": str(records)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        pids = wait_for(
            lambda: [
                record.pid
                for record in read_records(records)
                if record.rank == 1 and len(record.collectives) == 2
            ]
        )
        for number in (signal.SIGUSR1, signal.SIGTERM):
            before = (records / "rank-1.stack").stat().st_size
            os.kill(pids[0], number)
            wait_for(lambda before=before: (records / "rank-1.stack").stat().st_size > before)
            if number == signal.SIGUSR1:
                assert job.poll() is None
        assert main(["autopsy", str(records)]) == 1
        said = capsys.readouterr().out
        assert "rank 0 has not called Barrier(), collective 2" in said
        assert "else: W.Barrier()" in said
        wait_for(lambda: job.poll() is not None)
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
        job.wait()


def wait_for(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while True:
        try:
            if value := condition():
                return value
        except (OSError, ValueError):
            pass
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_flight_from_a_program(program, tmp_path):
    path = program(
        HEAD + "import mpicoll.flight\n"
        f"where = mpicoll.flight.open({str(tmp_path)!r})\n"
        "for _ in range(300): W.Allreduce(small, small.copy())\n"
        "found = mpicoll.flight.entries()\n"
        "assert len(found) == 256 and found[-1]['record_id'] == 299\n"
        "assert all(entry['state'] == 'completed' for entry in found)\n"
        "assert found[-1]['time_discovered_completed_ns'] >= found[-1]['time_created_ns']\n"
        "W.allgather('x' * 10)\n"
        "assert mpicoll.flight.entries()[-1]['form'] == 'objects'\n"
        "mpicoll.flight.dump()\n"
        "assert 'program.py' in (where / f'rank-{rank}.stack').read_text()\n"
    )
    done = start("-n", 2, path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (None, b"", "no records"),
        ("rank-0.record", b"x" * 100, "is not a record"),
        ("rank-0.record", b"mpicoll\0" + bytes(720888), "another version"),
    ],
)
def test_what_is_no_record(tmp_path, capfd, name, content, said):
    if name:
        (tmp_path / name).write_bytes(content)
    assert main(["autopsy", str(tmp_path)]) == 2
    assert said in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "variables", "said"),
    [
        (["--native", "--check"], {}, "leaves them off"),
        (
            ["-n", "1"],
            {"MPICOLL_TIMEOUT": "soon"},
            "MPICOLL_TIMEOUT must be a number of seconds above 0",
        ),
        (
            ["-n", "1"],
            {"MPICOLL_TIMEOUT": "-1"},
            "MPICOLL_TIMEOUT must be a number of seconds above 0",
        ),
        (["-n", "1", "--flight", "/dev/null/x"], {}, "cannot make the directory"),
    ],
)
def test_wrong_usage(words, variables, said, capfd, monkeypatch):
    monkeypatch.setenv("MPICOLL_FLIGHT", "")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert main(["run", *words, __file__]) == 2
    assert said in capfd.readouterr().err
