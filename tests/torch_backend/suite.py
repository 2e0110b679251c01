"""Run the tests of a backend that torch brings along on mpicoll.

python tests/torch_backend/suite.py -n 4              all of them
python tests/torch_backend/suite.py -n 4 test_all_reduce_sum

torch decides by the name of the backend which tests there are. They are loaded as mpicoll's, and
what is left out then as those of mpi and gloo, which torch lets do more; all run on mpicoll. Tests
that are not passed are listed with the reason in tests/torch_backend/expected.txt. Needs the
package expecttest.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "compat"))
from run import collect

from mpicoll.launch.supervise import run

#: In this order: a test counts as the first of them by which it is not skipped.
BACKENDS = ("mpicoll", "mpi", "gloo")


def run_tests(n, backend, settled, wanted, timeout):
    """Outcome and text of the tests that are not `settled`."""
    results = Path(tempfile.mkdtemp(prefix="mpicoll-torch-"))
    (results / "shared" / "barrier").mkdir(parents=True)
    (results / "shared" / "test_dir").mkdir()
    found = {}
    while True:
        (results / "done").write_text("\n".join([*settled, *found]))
        for path in results.glob("rank-*"):
            path.unlink()
        argv = [str(HERE / "suite_ranks.py"), str(results), backend, *wanted]
        outcome = run(n, argv, timeout=timeout, echo=False)
        new = collect(results, n, outcome.report + outcome.output[-3000:])
        found |= new
        if outcome.returncode == 0 or not new:
            break
    shutil.rmtree(results)
    if outcome.returncode:
        sys.exit(f"{backend}: no end of all tests\n{outcome.report}{outcome.output}")
    return found


def expectations():
    """Tests that may fail or be left out, and why."""
    lines = (HERE / "expected.txt").read_text().splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-n", type=int, default=4, help="ranks (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds in all")
    parser.add_argument("-v", action="store_true", help="list skipped tests too")
    parser.add_argument("test", nargs="*")
    args = parser.parse_args()
    outcomes, started = {}, time.monotonic()
    for backend in BACKENDS:
        settled = [test for test, (outcome, _) in outcomes.items() if outcome != "skipped"]
        new = run_tests(args.n, backend, settled, args.test, args.timeout)
        outcomes |= new
        counts = Counter(outcome for outcome, _ in new.values())
        print(f"loaded as {backend}: {dict(counts)}", flush=True)
    expected, bad = expectations(), []
    for test, (outcome, text) in sorted(outcomes.items()):
        if outcome in ("failed", "died"):
            reason = expected.get(test)
            print(f"\n{outcome}: {test}" + (f" (expected: {reason})" if reason else ""))
            if not reason:
                bad.append(test)
                print("  " + text.strip().replace("\n", "\n  "))
    reasons = Counter(text for outcome, text in outcomes.values() if outcome == "skipped")
    print("\nnot applicable:")
    for reason, number in reasons.most_common():
        print(f"{number:>5}  {reason}")
        if args.v:
            own = [test for test, pair in outcomes.items() if pair == ("skipped", reason)]
            print("       " + " ".join(own))
    counts = Counter(outcome for outcome, _ in outcomes.values())
    print(f"\nP = {args.n}, {time.monotonic() - started:.0f} s, {len(outcomes)} tests:")
    print(
        f"{counts['passed']} passed, {counts['failed'] + counts['died']} failed, "
        f"{counts['skipped']} skipped"
    )
    return 1 if bad or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
