"""Tests on several ranks: one verdict for all, no output from ranks above 0, and never a hang.

Every rank runs every test. After each phase of a test (setup, call, teardown) the ranks exchange
what became of it: one rank's failure is everyone's. A rank that cannot come to the exchange,
because it waits in MPI for one that failed or does not end at all, is found by a watchdog thread
on each rank, which says where all ranks are and aborts the job.
"""

import os
import shutil
import tempfile
import threading
import time
from pathlib import Path

import pytest
from mpi4py import MPI

import mpicoll
from mpicoll.launch.stacks import current_place, group, ranks_text

WORLD = MPI.COMM_WORLD
TIMEOUT = float(os.environ.get("MPICOLL_TEST_TIMEOUT", "60"))  # seconds, for each phase of a test
GRACE = 3.0  # seconds that ranks may work on after one has failed
POLL = 0.2
SPEAK = 1.0  # seconds for all ranks to say where they are
TIMEOUT_STATUS = 124


class Agreement:
    """Exchanges verdicts between ranks, and ends the job when a rank cannot take part."""

    def __init__(self) -> None:
        self.comm = WORLD.Dup()
        self.rank = WORLD.Get_rank()
        made = tempfile.mkdtemp(prefix="mpicoll-tests-") if self.rank == 0 else None
        self.directory = Path(self.comm.bcast(made))
        # Called while pytest captures nothing, so this is the real one.
        self.stderr = os.fdopen(os.dup(2), "w")
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}
        self.collect_errors = ""
        self.test = "collection"
        self.phase = 0
        self.arrived = False
        self.deadline = time.monotonic() + TIMEOUT
        self.stop = threading.Event()
        self.watchdog = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self.watchdog.start()

    def pytest_collectreport(self, report):
        if report.failed:
            self.collect_errors += f"{report.nodeid}: {report.longreprtext}\n"

    def pytest_collection_finish(self, session):
        """Stop all ranks when some cannot collect, or not the same tests."""
        mine = (self.collect_errors, [item.nodeid for item in session.items])
        everyone = self.exchange(mine)
        for rank, (errors, tests) in enumerate(everyone):
            if errors and not self.collect_errors:
                pytest.exit(f"rank {rank} cannot collect its tests:\n{errors}", returncode=2)
            if tests != everyone[0][1]:
                pytest.exit(f"ranks 0 and {rank} collected different tests", returncode=2)

    def pytest_runtest_logstart(self, nodeid):
        self.test = nodeid

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self):
        return self.settle((yield))

    def pytest_unconfigure(self):
        self.comm.Barrier()
        self.stop.set()
        self.watchdog.join()
        self.stderr.close()
        self.comm.Free()
        if self.rank == 0:
            shutil.rmtree(self.directory)

    def exchange(self, mine, complaint=""):
        """Give every rank's ``mine``; a ``complaint`` tells waiting ranks why to give up."""
        if complaint:
            self._write(f"failed-{self.phase}-{self.rank}", complaint)
        self.arrived = True
        everyone = self.comm.allgather(mine)
        self.phase += 1
        self.arrived = False
        self.deadline = time.monotonic() + TIMEOUT
        return everyone

    def settle(self, report):
        """Turn this rank's report of one phase into all ranks' common one."""
        text = report.longreprtext
        mine = (report.outcome, text, crash_line(report), getattr(report, "wasxfail", None))
        everyone = self.exchange(mine, "" if report.outcome == "passed" else text or "skipped")
        outcomes = [outcome for outcome, *_ in everyone]
        if "failed" in outcomes:
            failed = {r: v for r, v in enumerate(everyone) if v[0] == "failed"}
            first = min(failed)
            heading = ranks_text(failed) + f" of {len(everyone)} failed"
            lines = {r: v[2] for r, v in failed.items() if v[1] != failed[first][1]}
            others = "\n".join(f"{ranks_text(ranks)}: {line}" for ranks, line in group(lines))
            if report.outcome != "failed":
                report.outcome = "failed"
                report.longrepr = f"rank {first}:\n{failed[first][1]}"
                vars(report).pop("wasxfail", None)
            if len(everyone) > 1:
                report.sections.append((heading, others or f"rank {first} is shown"))
        elif "skipped" in outcomes and report.outcome != "skipped":
            first = outcomes.index("skipped")
            report.outcome = "skipped"
            report.longrepr = (*report.location[:2], f"rank {first}: {everyone[first][2]}")
            if everyone[first][3] is not None:
                report.wasxfail = everyone[first][3]
        if report.when == "call" or report.outcome != "passed":
            self.counts[report.outcome] += 1
        return report

    def _write(self, name: str, text: str) -> None:
        # Renamed into place, so that no reader finds half a text.
        (self.directory / f".{name}").write_text(text)
        (self.directory / f".{name}").rename(self.directory / name)

    def _watch(self) -> None:
        while not self.stop.wait(POLL):
            overdue = time.monotonic() > self.deadline
            ending = any(self.directory.glob("place-*"))
            if overdue or ending or (not self.arrived and self._given_up()):
                self._end()

    def _given_up(self) -> bool:
        """Whether another rank failed a while ago in the phase this rank is still at."""
        complaints = self.directory.glob(f"failed-{self.phase}-*")
        return any(path.stat().st_mtime < time.time() - GRACE for path in complaints)

    def _end(self) -> None:
        place = "waiting for the others' verdict"
        if not self.arrived:
            place = f"at {current_place(threading.main_thread().ident)}"
        self._write(f"place-{self.rank}", place)
        # Rank 0 speaks for all; should it be unable to, the next does.
        time.sleep(SPEAK * (1 + self.rank))
        failed = self._read(f"failed-{self.phase}-*")
        lines = [
            f"\n{self.test}: " + ("a rank failed" if failed else f"no end after {TIMEOUT:g} s")
        ]
        for ranks, text in group(self._read("place-*")):
            lines.append(f"{ranks_text(ranks)}: {text}")
        for ranks, text in group(failed):
            lines.append(f"{ranks_text(ranks)} failed:\n{text}")
        # The job ends here, so this stands for pytest's own last line.
        counts = dict(self.counts, failed=self.counts["failed"] + 1)
        lines.append(", ".join(f"{n} {outcome}" for outcome, n in counts.items()) + ", job aborted")
        print("\n".join(lines), file=self.stderr, flush=True)
        if self.rank == 0:
            shutil.rmtree(self.directory, ignore_errors=True)
        WORLD.Abort(1 if failed else TIMEOUT_STATUS)

    def _read(self, pattern: str) -> dict[int, str]:
        paths = self.directory.glob(pattern)
        return {int(path.name.rsplit("-", 1)[1]): path.read_text() for path in paths}


def crash_line(report) -> str:
    """One line for what went wrong, or why it was skipped."""
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2]
    crash = getattr(report.longrepr, "reprcrash", None)
    return f"{crash.path}:{crash.lineno}: {crash.message}" if crash else report.longreprtext


# Last, when the reporter exists and pytest-mpi has decided not to print its long banner.
@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    config.option.with_mpi = True
    config.pluginmanager.register(Agreement(), "mpicoll-agreement")
    if WORLD.Get_rank() > 0:
        config.pluginmanager.unregister(name="terminalreporter")


@pytest.fixture
def comm():
    """A communicator of all ranks, the test's own."""
    comm = WORLD.Dup()
    yield comm
    comm.Free()


@pytest.fixture
def rank(comm):
    return comm.Get_rank()


@pytest.fixture
def size(comm):
    return comm.Get_size()


@pytest.fixture
def ours(comm):
    """The same communicator with mpicoll's collectives."""
    return mpicoll.wrap(comm)
