"""The agreement of tests/mpi/conftest.py, tried on tests that disagree, hang and cannot be read."""

import shutil
import textwrap
from pathlib import Path

import pytest

from mpicoll.launch.supervise import run

CONFTEST = Path(__file__).parents[1] / "mpi" / "conftest.py"


@pytest.fixture
def harness(tmp_path):
    """Run the tests given as text under tests/mpi's conftest on some ranks."""
    shutil.copy(CONFTEST, tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")

    def start(n, text, **env):
        (tmp_path / "test_it.py").write_text("import pytest\n" + textwrap.dedent(text).lstrip())
        argv = ["-m", "pytest", "-q", "--color=no", "-p", "no:cacheprovider"]
        return run(n, argv, timeout=30, directory=tmp_path, env=env, echo=False)

    return start


def test_verdicts_are_common(harness):
    outcome = harness(
        3,
        """
        def test_good(comm, size):
            assert comm.allreduce(1) == size

        def test_one_fails(comm, rank):
            assert rank != 1, "one is wrong"

        def test_all_fail(rank):
            assert rank == 7

        def test_one_skips(rank):
            if rank == 2:
                pytest.skip("not here")

        @pytest.fixture
        def broken(rank):
            assert rank != 2, "broken setup"

        def test_setup(broken, comm):
            comm.Barrier()

        @pytest.mark.mpi(min_size=4)
        def test_needs_four(comm):
            comm.Barrier()

        @pytest.mark.xfail
        def test_known(rank):
            assert rank != 1

        def test_still_in_step(comm, size):
            assert comm.allreduce(1) == size
        """,
    )
    assert outcome.returncode == 1 and not outcome.timed_out
    last = outcome.output.splitlines()[-1]
    assert "2 failed, 2 passed, 2 skipped, 1 xfailed, 1 error" in last
    assert "one is wrong" in outcome.output and "rank 1 of 3 failed" in outcome.output
    assert "rank 2:" in outcome.output and "broken setup" in outcome.output
    assert "ranks 0-2 of 3 failed" in outcome.output and "assert 2 == 7" in outcome.output
    assert [r.output for r in outcome.ranks[1:]] == ["", ""]


def test_ranks_that_wait_for_a_failed_one_end_soon(harness):
    outcome = harness(
        3,
        """
        def test_good():
            pass

        def test_stuck(comm, rank):
            if rank == 1:
                raise ValueError("the reason")
            comm.Barrier()
        """,
    )
    assert outcome.returncode != 0 and outcome.seconds < 15
    assert "test_it.py::test_stuck: a rank failed" in outcome.output
    assert "ranks 0, 2: at test_it.py:8 in test_stuck: comm.Barrier()" in outcome.output
    assert "rank 1 failed:" in outcome.output and "the reason" in outcome.output
    assert "1 passed, 1 failed, 0 skipped, job aborted" in outcome.output


def test_hang_is_ended_at_the_deadline(harness):
    outcome = harness(
        2,
        """
        def test_hang(comm, rank):
            if rank == 1:
                comm.recv(source=0)
        """,
        MPICOLL_TEST_TIMEOUT="3",
    )
    assert outcome.returncode == 124 and not outcome.timed_out
    assert "test_it.py::test_hang: no end after 3 s" in outcome.output
    assert "rank 0: waiting for the others' verdict" in outcome.output
    assert "rank 1: at test_it.py:4 in test_hang: comm.recv(source=0)" in outcome.output


def test_one_rank_that_cannot_collect_stops_all(harness):
    outcome = harness(
        2,
        """
        from mpi4py import MPI
        if MPI.COMM_WORLD.rank == 1:
            import no_such_module
        def test_it():
            pass
        """,
    )
    assert outcome.returncode == 2 and not outcome.timed_out
    assert "rank 1 cannot collect" in outcome.output and "no_such_module" in outcome.output
