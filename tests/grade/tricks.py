"""Wrong programs that try to be graded as right ones, or to do harm."""

from programs import HEAD, RING, changed

__all__ = ["TRICKS"]

WRONG = "    recvbuf[...] = 0\n"


def function(body: str, top: str = "") -> str:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").splitlines())
    return HEAD + top + "def ring_allreduce(comm, sendbuf, recvbuf, op):\n" + lines


#: name: (source, codes of which one must be found)
TRICKS: dict[str, tuple[str, set[str]]] = {
    "fake_results_printed": (
        function(
            """
print('{"passed": true, "score": 100}', flush=True)
print("ok      result      30/30", flush=True)
recvbuf[...] = 0
"""
        ),
        {"contributions", "wrong-result", "chunk-strange", "too-few-steps"},
    ),
    "exit_zero": (function("import sys\nsys.exit(0)"), {"exit"}),
    "exit_zero_at_import": (HEAD + "import sys\nsys.exit(0)\n", {"exit"}),
    "os_exit_zero": (function("import os\nos._exit(0)"), {"rank-gone"}),
    "os_exit_zero_at_import": (HEAD + "import os\nos._exit(0)\n", {"rank-gone"}),
    "harness_replaced": (
        function(
            WRONG.strip(),
            """\
import sys
import mpicoll.grade.calls, mpicoll.grade.wire, mpicoll.grade.trace
mpicoll.grade.trace.is_filled = lambda *a: True
np.array_equal = np.allclose = lambda *a, **k: True
_call = mpicoll.grade.calls.Caller.call


def call(self, comm, order, function):
    answer = _call(self, comm, order, function)
    answer["error"], answer["ops"], answer["remarks"] = None, [], []
    return answer


mpicoll.grade.calls.Caller.call = call


""",
        ),
        {"tampered"},
    ),
    "checks_replaced": (
        function(
            WRONG.strip(),
            """\
import mpicoll.grade.judge as judge
import mpicoll.grade.grading as grading
judge.judge = grading.judge = lambda *a: []
grading._Run.checks = lambda self: []


""",
        ),
        {"contributions", "chunk-strange", "wrong-result", "tampered"},
    ),
    "result_file_written": (
        function(
            """
import json, os
for name in ("results.json", "result.json", "report.json", f"rank-{comm.Get_rank()}.json"):
    with open(name, "w") as file:
        json.dump({"passed": True, "score": 100, "state": "finished"}, file)
recvbuf[...] = 0
"""
        ),
        {"contributions", "chunk-strange", "wrong-result"},
    ),
    "report_directory_written": (
        function(
            """
import os
with open(os.path.join(os.environ["MPICOLL_REPORT"], "rank-0.json"), "w") as file:
    file.write('{"state": "finished"}')
"""
        ),
        {"forbidden-action"},
    ),
    "channel_written": (
        function(
            """
import json, os, socket, struct
answer = {"error": None, "outputs": [], "inputs": [], "margins": [True], "ops": [], "remarks": [],
          "tampered": [], "attempts": [], "number": 2}
data = json.dumps(answer).encode()
for number in range(3, 64):
    try:
        os.write(number, struct.pack("!I", len(data)) + data)
    except OSError:
        pass
recvbuf[...] = 0
"""
        ),
        {"rank-gone", "tampered", "contributions", "chunk-strange", "wrong-result"},
    ),
    "fork": (
        function("import os\nif os.fork():\n    os._exit(0)\n" + WRONG.strip()),
        {"forbidden-action"},
    ),
    "fork_hidden": (
        function(
            "import os\ntry:\n    os.fork()\nexcept BaseException:\n    pass\n" + WRONG.strip()
        ),
        {"forbidden-action"},
    ),
    "fork_by_ctypes": (
        function("import ctypes\nctypes.CDLL(None).fork()\n" + WRONG.strip()),
        {"forbidden-action"},
    ),
    "program_started": (
        function('import subprocess\nsubprocess.run(["true"])\n' + WRONG.strip()),
        {"forbidden-action"},
    ),
    "endless_output": (
        function('while True:\n    print("x" * 100000)'),
        {"endless-output"},
    ),
    "stdout_closed": (
        function("import os, sys\nsys.stdout.close()\nos.close(1)\nos.close(2)\n" + WRONG.strip()),
        {"contributions", "chunk-strange", "wrong-result"},
    ),
    "everything_closed": (
        function("import os\nos.closerange(3, 256)\n" + WRONG.strip()),
        {"rank-gone", "hang"},
    ),
    "memory": (function("x = np.ones(1 << 36)"), {"memory", "exception"}),
    "endless_import": (HEAD + "while True:\n    pass\n", {"endless"}),
    "native_by_world": (
        function("MPI.COMM_WORLD.Allreduce(sendbuf, recvbuf, op)"),
        {"native-collective"},
    ),
    "native_by_class": (
        function("MPI.Intracomm.Allreduce(comm, sendbuf, recvbuf, op)"),
        {"exception", "native-collective"},
    ),
    "native_hidden": (
        changed(
            RING,
            (
                "    right, left",
                "    try:\n        comm.Barrier()\n    except Exception:\n        pass\n"
                "    right, left",
            ),
        ),
        {"barrier"},
    ),
    "always_equal": (
        function(
            """
class Same(np.ndarray):
    def __eq__(self, other): return np.ones(self.shape, bool)
    def __ne__(self, other): return np.zeros(self.shape, bool)
recvbuf = sendbuf.view(Same)
return recvbuf
"""
        ),
        {"rebound-output", "returned-output"},
    ),
}
