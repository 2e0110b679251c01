"""The cluster itself: hosts apart, bytes on the wire, limits, and nothing left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import cluster as module
import pytest
from cluster import Cluster, ClusterError

HERE = Path(__file__).parent
MIB = 1 << 20
TIMEOUT = 120

WHERE = """
from mpi4py import MPI
world = MPI.COMM_WORLD
everyone = world.gather((MPI.Get_processor_name(), world.Split_type(MPI.COMM_TYPE_SHARED).size))
if everyone:
    print(everyone)
"""
SEND = """
import sys, time
import numpy as np
from mpi4py import MPI
world, peer = MPI.COMM_WORLD, int(sys.argv[1])
data = np.zeros(int(sys.argv[2]), "u1")
world.Barrier()
started = time.perf_counter()
if world.rank == 0:
    world.Send(data, peer)
elif world.rank == peer:
    world.Recv(data, 0)
    print(time.perf_counter() - started, file=open(sys.argv[3], "w"))
"""
HANG = """
from mpi4py import MPI
MPI.COMM_WORLD.recv(source=MPI.COMM_WORLD.rank)
"""


@pytest.fixture
def program(tmp_path):
    def write(text):
        path = tmp_path / "program.py"
        path.write_text(text)
        return str(path)

    return write


def left_in(space):
    """Processes of a PID namespace."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(entry / "ns" / "pid") == space:
                found.append(entry.name)
        except OSError:
            continue
    return found


def space_of(cluster):
    return os.readlink(f"/proc/{cluster._first}/ns/pid")


def test_hosts_have_names_and_ranks_fill_them_in_order(possible, program):
    with Cluster(3, [1, 3, 2]) as cluster:
        done = cluster.run(6, program(WHERE), timeout=TIMEOUT)
        expected = [(f"h{node + 1}", cluster.slots[node]) for node in cluster.nodes]
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{expected}\n"


@pytest.mark.parametrize("peer, crosses", [(1, False), (2, True)])
def test_bytes_cross_the_wire_between_hosts_only(pair, program, tmp_path, peer, crosses):
    before = pair.traffic()
    words = (str(peer), str(8 * MIB), str(tmp_path / "seconds"))
    done = pair.run(4, program(SEND), *words, timeout=TIMEOUT)
    assert done.returncode == 0, done.stdout + done.stderr
    after = pair.traffic()
    sent = after["h1"].sent - before["h1"].sent
    received = after["h2"].received - before["h2"].received
    if crosses:
        assert 8 * MIB < sent < 10 * MIB and 8 * MIB < received < 10 * MIB
    else:
        # What is left is the launcher's.
        assert sent < MIB and received < MIB


def test_the_rate_is_a_limit(possible, program, tmp_path):
    seconds = tmp_path / "seconds"
    with Cluster(2, rate="100mbit") as cluster:
        done = cluster.run(2, program(SEND), "1", str(8 * MIB), str(seconds), timeout=TIMEOUT)
    assert done.returncode == 0, done.stdout + done.stderr
    # The bucket at each end of a link lets 256 kB pass at once.
    assert float(seconds.read_text()) > (8 * MIB - 4 * 256_000) / (100e6 / 8)


def test_a_program_that_hangs_ends_at_its_deadline(pair, program):
    done = pair.run(4, program(HANG), timeout=5)
    assert done.returncode == 124
    assert "all 4 ranks were ended" in done.stderr
    assert "rank 0 waits for itself" in done.stderr and "program.py:3" in done.stderr
    assert not pair.processes()


FAIL = """
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 3:
    raise ArithmeticError("on the other host")
MPI.COMM_WORLD.Barrier()
"""


@pytest.mark.parametrize("place", ["/tmp", "/mnt/tmp"], ids=["shared", "not shared"])
def test_a_failure_on_another_host_ends_all(possible, program, place):
    with Cluster(2, 2, env={"TMPDIR": place}) as cluster:
        done = cluster.run(4, program(FAIL), timeout=TIMEOUT)
        assert done.returncode == 1
        said = done.stdout + done.stderr
        assert "ArithmeticError: on the other host" in said and "rank 3" in said
        assert not cluster.processes()
        assert cluster.call(["ls", "/mnt/tmp"], timeout=60).stdout == ""


def test_a_command_that_does_not_end_is_ended(pair):
    with pytest.raises(subprocess.TimeoutExpired):
        pair.call(["bash", "-c", "(setsid sleep 600 &) ; sleep 600"], timeout=1, host="h2")
    assert not pair.processes()


def test_nothing_is_left(possible):
    with Cluster(2) as cluster:
        space = space_of(cluster)
        process = cluster.popen(["setsid", "sleep", "600"], host="h2")
        assert len(left_in(space)) > 2
    assert not left_in(space)
    assert process.wait() != 0


OWNER = """
import os, subprocess, time
from cluster import Cluster
with Cluster(2) as cluster:
    cluster.popen(["setsid", "sleep", "600"], host="h2", stdin=subprocess.DEVNULL)
    print(os.readlink(f"/proc/{cluster._first}/ns/pid"), flush=True)
    time.sleep(600)
"""


def test_nothing_is_left_when_the_owner_is_killed(possible):
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True, cwd=HERE
    )
    with owner:
        space = owner.stdout.readline().strip()
        assert len(left_in(space)) > 2
        owner.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while left_in(space) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left_in(space)


def test_where_namespaces_are_not_allowed_the_reason_is_given(monkeypatch, tmp_path):
    fake = tmp_path / "unshare"
    fake.write_text("#!/bin/sh\necho 'unshare: unshare failed: Operation not permitted' >&2\n")
    fake.chmod(0o755)
    monkeypatch.setattr(module, "search_path", lambda: f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(ClusterError, match="Operation not permitted"), Cluster(2):
        pass
    assert module.unavailable.__wrapped__().endswith("Operation not permitted")
    monkeypatch.setattr(module.shutil, "which", lambda *args, **keywords: None)
    assert module.unavailable.__wrapped__().startswith("needs unshare")


def test_shapes_that_cannot_be(possible):
    for hosts, slots in ((0, 1), (2, 0), (2, [1]), (2, [1, 0])):
        with pytest.raises(ValueError, match="cannot take"):
            Cluster(hosts, slots)


def test_check_between_hosts(pair):
    before = pair.traffic()
    done = pair.mpicoll("check", "allreduce", "bcast", "-n", "4", timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all passed" in done.stdout
    assert pair.traffic()["h2"].sent - before["h2"].sent > 100_000
