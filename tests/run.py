"""Run all tests: some under mpiexec at several process counts, the others in plain pytest.

python tests/run.py                              everything
python tests/run.py --only mpi -n 4 -k allreduce
python tests/run.py -- -x                        words after -- go to pytest
"""

import argparse
import re
import subprocess
import sys
import time
from collections import Counter
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from mpicoll.launch import LaunchError
from mpicoll.launch.supervise import run

ROOT = Path(__file__).parents[1]
# What runs under mpiexec, and at which process counts.
ON_RANKS = {"training": ("training/ranks", "2,3,4"), "mpi": ("mpi", "1,2,3,4,5,8")}
ON_RANKS["torch"] = ("torch_backend/ranks", "2,3,4")
# A folder called torch would be taken for PyTorch by whoever looks for a module of that name.
FOLDERS = {"torch": "torch_backend"}
PARTS = ["pure", "launch", "running", "check", "bench", "grade", "training", "cluster", "slurm"]
PARTS += ["faults", "learn", "mpi"]
PARTS.append("torch")
# pytest's words: ours
OUTCOMES = {
    "passed": "passed",
    "xfailed": "passed",
    "failed": "failed",
    "error": "failed",
    "errors": "failed",
    "xpassed": "passed",
    "skipped": "skipped",
}
COUNT = re.compile(r"(\d+) (" + "|".join(OUTCOMES) + r")\b")
NO_TESTS = 5  # pytest's exit status when a selection leaves nothing


def counts_of(output: str, status: int) -> Counter:
    """Read pytest's last line; a bad end that it does not mention counts as one failure."""
    last = next((line for line in reversed(output.splitlines()) if COUNT.search(line)), "")
    counts = Counter()
    for number, word in COUNT.findall(last):
        counts[OUTCOMES[word]] += int(number)
    if status not in (0, NO_TESTS) and not counts["failed"]:
        counts["failed"] = 1
    return counts


def run_plain(folder: str, words: list[str]) -> Counter:
    """Run one folder in this Python, showing its output as it comes."""
    command = [sys.executable, "-m", "pytest", f"tests/{folder}", *words]
    command += [f"--ignore=tests/{folder}/ranks"]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    lines = []
    for line in process.stdout:
        print(line, end="", flush=True)
        lines.append(line)
    return counts_of("".join(lines), process.wait())


def run_ranks(folder: str, n: int, words: list[str], timeout: float) -> Counter:
    """Run one folder on ``n`` ranks."""
    argv = ["-m", "pytest", f"tests/{folder}", *words, "-p", "no:cacheprovider"]
    outcome = run(n, argv, timeout=timeout, directory=ROOT)
    return counts_of(outcome.output, outcome.returncode)


def line_of(counts: Counter) -> str:
    return ", ".join(f"{counts[word]} {word}" for word in ("passed", "failed", "skipped"))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = ", ".join(f"{part} {sizes}" for part, (_, sizes) in ON_RANKS.items())
    parser.add_argument("-n", metavar="P[,P...]", help=f"default: {default}")
    parser.add_argument("-k", metavar="EXPR", help="pytest's selection by name")
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--timeout", type=float, default=600, help="seconds for each P")
    parser.add_argument("rest", nargs="*", metavar="-- WORDS")
    args = parser.parse_args()
    words = ["-q", "--color=no", *(["-k", args.k] if args.k else []), *args.rest]
    parts = args.only or PARTS
    if "torch" in parts and find_spec("torch") is None:
        print("--- torch: skipped, as PyTorch is not installed (make test-torch installs it)")
        parts = [part for part in parts if part != "torch"]
    plain = [part for part in parts if part != "mpi"]
    jobs = [(part, partial(run_plain, FOLDERS.get(part, part), words)) for part in plain]
    for part, (folder, sizes) in ON_RANKS.items():
        if part in parts:
            for n in map(int, (args.n or sizes).split(",")):
                job = partial(run_ranks, folder, n, words, args.timeout)
                jobs.append((f"{part} P={n}", job))
    summary, total = [], Counter()
    for name, job in jobs:
        print(f"--- {name}", flush=True)
        started = time.monotonic()
        try:
            counts = job()
        except LaunchError as error:
            sys.exit(f"tests/run.py: {error}")
        summary.append(f"{name:12} {line_of(counts)}  ({time.monotonic() - started:.1f} s)")
        total += counts
    print("\n".join(["---", *summary]))
    print(line_of(total))
    if not total["passed"] + total["failed"]:
        print("tests/run.py: no test was executed", file=sys.stderr)
        return 1
    return 1 if total["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
