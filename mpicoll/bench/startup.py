"""What comes before the first message: imports, making a communicator, planning and binding."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

from mpi4py import MPI

import mpicoll
from mpicoll.bench.figures import summarise
from mpicoll.bench.options import Options, Task
from mpicoll.bench.result import row
from mpicoll.bench.timing import clock, wait_quietly
from mpicoll.bench.work import Work
from mpicoll.execution.bind import bind
from mpicoll.launch.command import clean_environment
from mpicoll.registry import Algorithm, plan_from

__all__ = ["imports", "lines", "measured"]

REPETITIONS = 5

#: Run by a fresh Python; prints seconds for each of IMPORTS.
PROGRAM = """
import json, time
stamps = [time.perf_counter()]
import numpy
stamps.append(time.perf_counter())
from mpi4py import MPI
stamps.append(time.perf_counter())
import mpicoll
mpicoll.Intracomm
stamps.append(time.perf_counter())
print(json.dumps([b - a for a, b in zip(stamps, stamps[1:])]))
"""
IMPORTS = ("import numpy", "import mpi4py.MPI, with MPI_Init", "import mpicoll")
STEPS = ("plan", "bind", "first call", "later call")


def import_times(repetitions: int = REPETITIONS) -> dict[str, list[float]]:
    """Seconds that imports take in fresh processes of one rank each."""
    found: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for _ in range(repetitions):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=clean_environment(),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"a fresh Python cannot import mpicoll:\n{done.stderr.rstrip()}")
        for name, seconds in zip(IMPORTS, json.loads(done.stdout.splitlines()[-1]), strict=True):
            found[name].append(seconds)
    return found


def imports(comm: MPI.Intracomm) -> list[dict]:
    """Rows for the imports, measured by rank 0 while the others sleep; collective."""
    rows = []
    if comm.Get_rank() == 0:
        for name, own in import_times().items():
            chosen = {"group": "startup", "form": name, "candidate": name, "ranks": 1}
            rows.append(row(chosen | {"library": "mpicoll"}, summarise(own)))
    wait_quietly(comm)
    return rows


def measured(comm: MPI.Intracomm, task: Task, options: Options) -> list[dict]:
    """Rows for one collective at its smallest size; collective on `comm`, one of MPI's own."""
    work = Work(comm, task.collective, task.sizes[0], options.dtype, options.op, options.root)
    rows = []
    for wish in task.candidates:
        keywords = dict(wish.parameters)
        if wish.algorithm:
            keywords["algorithm"] = wish.algorithm.name
        times: dict[str, list[float]] = {name: [] for name in STEPS}
        for _ in range(REPETITIONS):
            algorithm = _once(comm, work, keywords, dict(wish.parameters), times)
        for name, own in times.items():
            slowest = [comm.allreduce(seconds, op=MPI.MAX) for seconds in own]
            independent = {
                "group": task.group,
                "collective": task.collective,
                "form": name,
                "library": "mpicoll",
                "candidate": wish.label,
                "algorithm": algorithm.name,
                "parameters": dict(wish.parameters),
                "ranks": work.size,
                "root": options.root,
                "dtype": options.dtype,
                "op": options.op,
                "nbytes": work.nbytes,
            }
            rows.append(row(independent, summarise(slowest)))
    return rows


def _once(
    comm: MPI.Intracomm,
    work: Work,
    keywords: dict[str, object],
    parameters: dict[str, object],
    times: dict[str, list[float]],
) -> Algorithm:
    """Everything once, on a new communicator, which has bound nothing yet."""
    communicator = mpicoll.Intracomm(comm.Dup())
    call = work.call()
    algorithm, parameters = communicator.state.settle(call, keywords.get("algorithm"), parameters)
    blocks = algorithm.number_of_blocks(work.size, parameters)
    start = clock()
    # Not algorithm.plan, which remembers.
    plan = plan_from(algorithm.stream(work.rank, work.size, call.root, **parameters), blocks)
    planned = clock()
    bound = bind(plan, call, blocks)
    times["plan"].append(planned - start)
    times["bind"].append(clock() - planned)
    bound.free()
    run = getattr(communicator, work.method.name)
    for name in ("first call", "later call"):
        comm.Barrier()
        start = clock()
        run(*work.arguments, **keywords)
        times[name].append(clock() - start)
    communicator.Free()
    return algorithm


def lines(rows: Sequence[dict]) -> list[str]:
    """The rows as a table of medians, as comments: these are no times by size."""
    imports = [each for each in rows if not each["independent"]["collective"]]
    found = [
        f"# {each['independent']['form']:<34}{each['dependent']['p50'] * 1e3:>10.1f} ms"
        for each in imports
    ]
    by_call: dict[str, dict[str, float]] = {}
    for each in rows:
        chosen = each["independent"]
        if chosen["collective"]:
            name = f"{chosen['collective']} {chosen['candidate']}"
            if chosen["candidate"] != chosen["algorithm"]:
                name += f" ({chosen['algorithm']})"
            by_call.setdefault(name, {})[chosen["form"]] = each["dependent"]["p50"]
    for name, medians in by_call.items():
        cells = ", ".join(f"{step} {medians[step] * 1e6:.1f} us" for step in STEPS)
        found.append(f"# {name}: {cells}")
    return found
