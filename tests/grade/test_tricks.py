"""No trick makes a wrong program pass, and none of its processes is left."""

import os
from pathlib import Path

import pytest
from graded import graded
from programs import RING, changed
from tricks import TRICKS

FAST = {"exit_zero", "os_exit_zero", "harness_replaced", "fork", "channel_written", "stdout_closed"}
FAST |= {"result_file_written", "endless_output", "fake_results_printed"}


def names():
    for name in TRICKS:
        yield pytest.param(name, marks=[] if name in FAST else pytest.mark.big)


@pytest.mark.parametrize("name", list(names()))
def test_a_trick_does_not_pass(name):
    source, codes = TRICKS[name]
    report, text = graded(source, sizes=(2,), seconds=5.0)
    found = {finding.code for check in report.checks for finding in check.findings}
    assert not report.passed, text
    assert report.score <= 90, text  # what hides a barrier loses those points only
    assert found & codes, text
    assert not _left(), "processes of the job are left"


def _left() -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            parent = (entry / "stat").read_text().rsplit(") ", 1)[1].split()
        except OSError:
            continue
        if b"mpicoll.grade.rank" in words and parent[0] != "Z":
            owner = (
                (entry / "environ").read_bytes() if os.access(entry / "environ", os.R_OK) else b""
            )
            if f"MPICOLL_GRADER={os.getpid()}".encode() in owner.split(b"\0"):
                found.append(int(entry.name))
    return found


@pytest.mark.big
def test_a_right_program_that_closes_its_output_passes():
    source = changed(
        RING,
        ("    right, left", "    import os, sys\n    sys.stdout.close()\n    right, left"),
    )
    report, text = graded(source, sizes=(2,))
    assert report.passed, text
