"""`mpicoll trace` and `mpicoll run --trace`: real runs, recorded and compared with their plans."""

import json
import subprocess
import sys
from collections import Counter

import pytest
from reference import ROWS

from mpicoll.__main__ import main
from mpicoll.launch.command import clean_environment
from mpicoll.trace.files import read_directory
from mpicoll.trace.merge import merge
from mpicoll.trace.text import rows

HEAD = """
import sys
import numpy as np
from mpi4py import MPI
W = MPI.COMM_WORLD
r, n = W.Get_rank(), W.Get_size()
x = np.arange(1000.0) + r
y = np.empty_like(x)
"""

COLLECTIVES = """
W.Allreduce(x, y)
assert y[3] == 3 * n + n * (n - 1) // 2
W.Bcast(y, root=1)
W.Reduce(x, y, op=MPI.MAX, root=2)
W.Allgather(x[:5].copy(), np.empty(5 * n))
W.Alltoall(x[: 2 * n].copy(), np.empty(2 * n))
W.Scan(x, y)
W.Gatherv(x[: r + 1].copy(), [np.empty(10), [1, 2, 3, 4][:n]] if r == 0 else None)
W.Barrier()
assert W.allreduce(r) == n * (n - 1) // 2
assert W.gather({"rank": r}, root=1) is None or r == 1
W.alltoall(list(range(n)))
W.scatter(list("abcd"[:n]) if r == 0 else None)
grid = W.Create_cart([n], [True])
grid.neighbor_allgather(r)
grid.Neighbor_alltoall(np.ones(2), np.ones(2))
"""

STARTED = """
first, second = W.Iallreduce(x, y), W.Ibcast(x.copy())
third = W.Iallgather(x[:3].copy(), np.empty(3 * n))
W.Barrier()
MPI.Request.Waitall([third, second, first])
again = W.Allreduce_init(x, y)
for _ in range(3):
    again.Start()
    again.Wait()
again.Free()
"""

NESTED = """
half = W.Split(r % 2, key=-r)
pair = half.Split(0)
other = W.Dup()
pair.Allreduce(x, y)
half.Bcast(x)
other.Reduce_scatter_block(np.ones(4 * n), np.empty(4))
if r < 2:
    W.Create_group(W.Get_group().Incl([1, 0])).Allgather(x[:2].copy(), np.empty(4))
else:
    W.Create_group(W.Get_group().Incl([2, 3])).barrier()
"""

MESSAGES = """
right, left = (r + 1) % n, (r - 1) % n
started = W.isend({"from": r}, right, tag=3)
assert W.recv(source=MPI.ANY_SOURCE, tag=3) == {"from": left}
started.wait()
room = np.zeros(100)
MPI.Request.Waitall([W.Irecv(room, left, 5), W.Isend(x[:100].copy(), right, 5)])
assert room[0] == left
W.Sendrecv(x[:7].copy(), right, 9, room, left, 9)
request = W.irecv(source=left, tag=4)
W.send("last", right, 4)
assert request.wait() == "last"
W.send(0, MPI.PROC_NULL)
"""


def run_traced(tmp_path, text, n=4, *words, head=HEAD):
    program = tmp_path / "program.py"
    program.write_text(head + text)
    command = [sys.executable, "-m", "mpicoll", "run", "-n", str(n), "--timeout", "100"]
    command += ["--trace", str(tmp_path / "trace"), *words, str(program)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=160, env=clean_environment()
    )


def traced(tmp_path, text, n=4, *words):
    done = run_traced(tmp_path, text, n, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "NOT AS PLANNED" not in done.stderr
    trace = merge(read_directory(tmp_path / "trace"))
    assert not trace.problems
    return trace, done.stderr


def counted(trace):
    assert all(call.whole for call in trace.calls)
    return Counter((call.collective, call.form, call.members) for call in trace.calls)


ALL = (0, 1, 2, 3)


def test_several_collectives(tmp_path):
    trace, said = traced(tmp_path, COLLECTIVES)
    found = counted(trace)
    blocking = "allreduce bcast reduce allgather alltoall scan gather barrier neighbor_alltoall"
    objects = "allreduce gather alltoall scatter neighbor_allgather"
    assert found == Counter(
        [(name, "blocking", ALL) for name in blocking.split()]
        + [(name, "objects", ALL) for name in objects.split()]
    )
    calls = {(call.collective, call.form): call for call in trace.calls}
    assert calls["allreduce", "blocking"].nbytes == 8000
    assert calls["reduce", "blocking"].op == "MAX" and calls["reduce", "blocking"].root == 2
    assert calls["bcast", "blocking"].where.endswith("program.py:12")
    gathered = calls["gather", "blocking"].messages
    assert sorted(message.nbytes for message in gathered) == [16, 24, 32]
    assert "15 collectives" not in said and "14 collectives" in said and "0 dropped" in said


def test_started_and_persistent_ones(tmp_path):
    found = counted(traced(tmp_path, STARTED)[0])
    assert found == {
        ("allreduce", "non-blocking", ALL): 1,
        ("bcast", "non-blocking", ALL): 1,
        ("allgather", "non-blocking", ALL): 1,
        ("barrier", "blocking", ALL): 1,
        ("allreduce", "persistent", ALL): 3,
    }


def test_communicators_within_communicators(tmp_path):
    trace, _ = traced(tmp_path, NESTED)
    assert counted(trace) == {
        ("allreduce", "blocking", (2, 0)): 1,
        ("allreduce", "blocking", (3, 1)): 1,
        ("bcast", "blocking", (2, 0)): 1,
        ("bcast", "blocking", (3, 1)): 1,
        ("reduce_scatter", "blocking", ALL): 1,
        ("allgather", "blocking", (1, 0)): 1,
        ("barrier", "blocking", (2, 3)): 1,
    }
    (message,) = next(
        call for call in trace.calls if call.collective == "bcast" and 0 in call.members
    ).messages
    assert (message.source, message.peer, message.nbytes) == (2, 0, 8000)


def test_the_program_s_own_messages(tmp_path):
    trace, said = traced(tmp_path, MESSAGES)
    assert not trace.calls and "16 messages of the program's own" in said
    found = Counter((m.source, m.peer, m.tag) for m in trace.messages)
    assert found == {(r, (r + 1) % 4, tag): 1 for r in range(4) for tag in (3, 4, 5, 9)}
    sizes = {message.tag: message.nbytes for message in trace.messages}
    assert (sizes[5], sizes[9]) == (800, 56) and sizes[3] > 8
    assert all(message.begin < message.end for message in trace.messages)


def test_between_groups_nothing_is_taken_for_what_it_is_not(tmp_path):
    trace, _ = traced(
        tmp_path,
        "half = W.Split(r % 2)\n"
        "inter = half.Create_intercomm(0, W, 1 - r % 2)\n"
        "inter.Allreduce(x, y)\n"
        "inter.allgather(r)\n",
    )
    assert {call.collective for call in trace.calls} == {"inter_allreduce", "inter_allgather"}


def test_a_small_buffer_drops_the_oldest_and_says_so(tmp_path):
    text = "for _ in range(50): W.Allreduce(x, y)\n"
    trace, said = traced(tmp_path, text, 2, "--trace-records", "103")
    assert len(set(trace.dropped)) == 1 and trace.dropped[0] > 100
    assert f"{sum(trace.dropped):,} dropped" in said
    whole = [call.whole for call in trace.calls]
    assert not whole[0] and all(whole[1:]) and len(whole) > 10


def test_a_failing_program_leaves_its_trace(tmp_path):
    done = run_traced(
        tmp_path, "W.Allreduce(x, y)\nif r == 1: raise KeyError('boom')\nW.Barrier()\n"
    )
    assert done.returncode not in (0, 124) and "KeyError: 'boom'" in done.stderr
    path = tmp_path / "trace" / "rank-1.jsonl"
    assert "allreduce" in path.read_text()


def test_one_that_ends_mpi_itself(tmp_path):
    trace, _ = traced(tmp_path, "W.Allreduce(x, y)\nMPI.Finalize()\n", 2)
    assert len(trace.calls) == 1


def trace_json(tmp_path, *words):
    path = tmp_path / "trace.json"
    assert main(["trace", *words, "--json", str(path)]) == 0
    return json.loads(path.read_text())


def test_the_ring_of_a_real_run_is_the_reference(monkeypatch):
    from mpicoll.commands import trace as command

    kept = []
    monkeypatch.setattr(command, "show", lambda args, trace: kept.append(trace) or 0)
    assert main(["trace", "allreduce", "ring", "-n", "4"]) == 0
    (call,) = kept[0].calls
    assert not kept[0].problems and call.whole and len(call.messages) == 24
    found = rows(call)
    assert [(number, rank, found[number][rank]) for number, rank, _ in ROWS] == ROWS
    assert sum(map(len, found)) == len(ROWS)


def test_text(capfd):
    words = ["trace", "bcast", "pipelined", "-n", "3", "--root", "2", "--set", "segments=2"]
    assert main([*words, "--bytes", "1k", "--dtype", "int32", "--text"]) == 0
    out = capfd.readouterr().out
    assert "bcast pipelined on 3 ranks, root 2, segments = 2, 1024 bytes" in out
    assert "rank 2 sends C0" in out and "rank  messages" in out
    assert main([*words, "--text", "grid"]) == 0
    assert "rank 0 C0*" in " ".join(capfd.readouterr().out.split())


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["allreduce"], "'allreduce' is no directory"),
        (["allreduce", "rign"], "has no algorithm 'rign'"),
        (["a", "b", "c"], "expected COLLECTIVE ALGORITHM"),
        (["allreduce", "swing", "-n", "6"], "power of two"),
        (["allreduce", "ring", "-n", "0"], "must be 1 or more"),
        (["allreduce", "ring", "--bytes", "much"], "expected bytes"),
        (["allreduce", "ring", "--dtype", "object"], "--dtype takes"),
        (["allreduce", "ring", "--op", "TIMES"], "--op takes one of"),
        (["allreduce", "--compare", "ring"], "two algorithms or more"),
        (["allreduce", "ring", "--compare", "ring,swing"], "name the collective only"),
        (["."], "has no trace"),
    ],
)
def test_wrong_usage(words, reason, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["trace", *words]) == 2
    assert reason in capfd.readouterr().err


def test_wrong_usage_of_run(capfd, tmp_path):
    assert main(["run", "--native", "--trace", str(tmp_path), __file__]) == 2
    assert main(["run", "--trace-records", "0", "--trace", str(tmp_path), __file__]) == 2
    assert main(["run", "-n", "1", "--trace", __file__, __file__]) == 2
    said = capfd.readouterr().err
    assert "leaves them off" in said and "at least 1, not 0" in said and "cannot write into" in said


def test_a_comparison(capfd):
    words = ["trace", "allreduce", "-n", "3", "--compare", "ring,reduce_bcast", "--bytes", "24k"]
    assert main([*words, "--text"]) == 0
    lines = [line.split() for line in capfd.readouterr().out.splitlines()]
    ring, both = (next(x for x in lines if x[:1] == [name]) for name in ("ring", "reduce_bcast"))
    assert ring[1:9] == ["4", "12", "96", "KiB", "32", "KiB", "64", "KiB"] and ring[11] == "33"
    assert both[1:3] == ["4", "4"] and both[-6] == "50"
