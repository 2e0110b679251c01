"""Run mpi4py's own tests on native MPI and on mpicoll, and compare them test by test.

python tests/compat/run.py -n 1,2,3             every test that passes natively must pass on mpicoll
python tests/compat/run.py -k cco_obj           some modules only

The source distribution of mpi4py is downloaded to build/compat, once. Differences that are meant
are listed, each with its reason, in tests/compat/expected.txt.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from pathlib import Path

from mpicoll.launch.supervise import run

HERE = Path(__file__).parent
BUILD = HERE.parents[1] / "build" / "compat"
VERSION = "4.1.2"
PATTERNS = ("test_cco_*", "test_comm*", "test_p2p*", "test_request", "test_subclass")
MODES = ("native", "mpicoll")


def downloaded():
    """The folder of mpi4py's tests."""
    archive = BUILD / f"mpi4py-{VERSION}.tar.gz"
    folder = BUILD / f"mpi4py-{VERSION}" / "test"
    if not archive.exists():
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        pip += ["--no-binary", "mpi4py", "--dest", str(BUILD), f"mpi4py=={VERSION}"]
        subprocess.run(pip, check=True)
    if not folder.exists():
        with tarfile.open(archive) as file:
            file.extractall(BUILD, filter="data")
    return folder


def run_tests(n, mode, folder, modules, timeout):
    """Outcome and text of every test on `n` ranks, the worst of all ranks counting."""
    results = Path(tempfile.mkdtemp(prefix="mpicoll-compat-"))
    settled = {}
    started = time.monotonic()
    while True:
        (results / "done").write_text("\n".join(settled))
        for path in results.glob("rank-*"):
            path.unlink()
        argv = [str(HERE / "ranks.py"), str(results), str(folder), *modules]
        argv = ["-m", "mpicoll", "run", *argv] if mode == "mpicoll" else argv
        outcome = run(n, argv, timeout=timeout, echo=False)
        new = collect(results, n, outcome.report)
        settled |= new
        if outcome.returncode == 0 or not new:
            break
    shutil.rmtree(results)
    seconds = time.monotonic() - started
    print(f"{mode}, P = {n}: {len(settled)} tests in {seconds:.0f} s", flush=True)
    if outcome.returncode:
        print(f"{mode}, P = {n}: no end of all tests\n{outcome.report}{outcome.output}")
    return settled


def collect(results, n, report):
    """What the ranks wrote down; a test that not all have ended has died."""
    paths = list(results.glob("rank-*"))
    begun, ended = Counter(), {}
    for path in paths:
        for line in path.read_text().splitlines():
            test, *rest = json.loads(line)
            begun[test] += not rest
            if rest:
                ended.setdefault(test, []).append((*rest, path.name))
    found = {}
    for test in dict.fromkeys([*begun, *ended]):
        worst = min(ended.get(test, []), default=None)  # failed < passed < skipped
        if begun[test] > len(ended.get(test, [])) or begun[test] not in (0, n):
            found[test] = "died", report
        elif worst[0] == "failed":
            found[test] = "failed", f"{worst[2]}: {worst[1]}"
        else:
            found[test] = worst[:2]
    return found


def expectations():
    """Tests that may differ, and why."""
    lines = (HERE / "expected.txt").read_text().splitlines()
    pairs = (line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))
    return dict(pairs)


def compare(n, native, ours, expected):
    """Print a table by module; the tests that pass natively only, and are not expected to."""
    modules = sorted({test.split(".")[0] for test in (*native, *ours)})
    print(f"\nP = {n:<27} native        mpicoll")
    print(f"{'module':<24} passed failed  passed failed  differ")
    for module in modules:
        counts = [
            Counter(
                outcome for test, (outcome, _) in tests.items() if test.startswith(f"{module}.")
            )
            for tests in (native, ours)
        ]
        numbers = [f"{c['passed']:>6} {c['failed'] + c['died']:>6}" for c in counts]
        differ = [t for t in differing(native, ours) if t.startswith(f"{module}.")]
        print(f"{module:<24} {numbers[0]}  {numbers[1]}  {len(differ):>6}")
    worse = differing(native, ours)
    for test in worse:
        outcome, text = ours.get(test, ("not run", ""))
        reason = f" (expected: {expected[test]})" if test in expected else ""
        print(f"\n{outcome} on mpicoll only: {test}{reason}")
        if not reason:
            print("  " + text.strip().replace("\n", "\n  "))
    return [test for test in worse if test not in expected]


def differing(native, ours):
    """The tests that pass natively only."""
    return [
        test
        for test, (outcome, _) in native.items()
        if outcome == "passed" and ours.get(test, ("",))[0] != "passed"
    ]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", default="3", metavar="P[,P...]", help="default: %(default)s")
    parser.add_argument("-k", default="", metavar="WORD", help="only modules with WORD in the name")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds for each run")
    args = parser.parse_args()
    folder = downloaded()
    paths = sorted(path for pattern in PATTERNS for path in folder.glob(pattern + ".py"))
    modules = [path.stem for path in paths if args.k in path.stem]
    expected = expectations()
    bad, passed = [], 0
    for n in map(int, args.n.split(",")):
        native, ours = (run_tests(n, mode, folder, modules, args.timeout) for mode in MODES)
        bad += compare(n, native, ours, expected)
        passed += sum(outcome == "passed" for outcome, _ in ours.values())
    print(f"\n{passed} tests passed on mpicoll, {len(bad)} only on native MPI")
    return 1 if bad or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
