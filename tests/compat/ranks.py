"""What every rank runs: mpi4py's tests one by one, each with a line before and after it.

python ranks.py RESULTS TESTS MODULE...    RESULTS/done lists tests that are settled already
"""

import faulthandler
import json
import sys
import unittest
from pathlib import Path

PATIENCE = 180  # seconds for one test, on a machine with fewer cores than ranks


class Result(unittest.TestResult):
    """Writes down what becomes of every test."""

    def __init__(self, file):
        super().__init__()
        self.file = file
        self.outcome = self.text = ""

    def write(self, *words):
        print(json.dumps(words), file=self.file, flush=True)

    def startTest(self, test):
        super().startTest(test)
        self.outcome, self.text = "passed", ""
        self.write(test.id())
        # A rank that waits for ever ends, and with it the job; the runner goes on behind this test.
        faulthandler.dump_traceback_later(PATIENCE, exit=True)

    def stopTest(self, test):
        super().stopTest(test)
        faulthandler.cancel_dump_traceback_later()
        self.write(test.id(), self.outcome, self.text)

    def _failed(self, test, error):
        self.outcome = "failed"
        self.text += self._exc_info_to_string(error, test)
        if not isinstance(test, unittest.TestCase):  # a class or module that could not be set up
            self.write(test.id(), "failed", self.text)

    addError = addFailure = _failed

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self._failed(test, error)

    def addUnexpectedSuccess(self, test):
        self.outcome = "failed"

    def addSkip(self, test, reason):
        self.outcome, self.text = "skipped", reason


def tests_in(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from tests_in(item)
        else:
            yield item


def main():
    results, folder = Path(sys.argv[1]), sys.argv[2]
    sys.path.insert(0, folder)
    from mpi4py import MPI

    done = set((results / "done").read_text().split("\n"))
    suite = unittest.defaultTestLoader.loadTestsFromNames(sys.argv[3:])
    remaining = unittest.TestSuite(t for t in tests_in(suite) if t.id() not in done)
    with open(results / f"rank-{MPI.COMM_WORLD.Get_rank()}", "a") as file:
        remaining.run(Result(file))


if __name__ == "__main__":
    main()
