"""A fault of one rank, or of a host, ends the whole job, with a message, and leaves nothing."""

import json
import shlex
import signal
import subprocess
import sys
import time

import pytest
from cluster import Cluster, unavailable
from faults import FAULTS, SHAPES, cause

#: Faults that wait for the deadline, or that others show as well, are for `make faults`.
SHORT = {("kill", "one host"), ("object operation", "one host"), ("kill", "two hosts")}


@pytest.mark.parametrize(
    "fault, where",
    [
        pytest.param(fault, where, marks=() if (fault, where) in SHORT else pytest.mark.big)
        for fault, expected in FAULTS.items()
        for where in expected.where
    ],
)
def test_all_ranks_end_and_the_culprit_is_named(tmp_path, fault, where):
    if reason := unavailable():
        pytest.skip(reason)
    with Cluster(*SHAPES[where]) as cluster:
        seen = cause(fault, cluster, tmp_path)
    expected = FAULTS[fault]
    assert seen.status in expected.status, seen.report
    for words in expected.words:
        # Which one of several hosts' ranks was killed first, nobody sees for certain.
        words = "failed after" if (fault, where) == ("kill", "two hosts") else words
        assert words in seen.report
    assert not seen.processes and not seen.files
    if 124 not in expected.status:
        assert "no end after" not in seen.report, "the deadline ended it, not the fault"


FULL = """
mkdir -p {place} && mount -t tmpfs -o size={size} tmpfs {place} && cd {place}
echo '{{"old": 1}}' >whole.json
{command}
echo STATUS $?
ls -A
"""


@pytest.fixture(scope="module")
def host():
    """A host with mounts of its own."""
    if reason := unavailable():
        pytest.skip(reason)
    with Cluster(1, 2) as cluster:
        yield cluster


def on_full_disk(host, size, *words):
    """Run mpicoll on a small disk that holds whole.json: status, stderr, and what files hold."""
    place = f"/mnt/tmp/{size}"
    command = shlex.join([sys.executable, "-m", "mpicoll", *words])
    script = FULL.format(place=place, size=size, command=command)
    done = host.call(["bash", "-c", script], timeout=300)
    status, *names = done.stdout.partition("STATUS ")[2].split()
    kept = {name: host.call(["cat", f"{place}/{name}"], timeout=60).stdout for name in names}
    return int(status), done.stderr, kept


BENCH = ("bench", "allreduce", "bcast", "-n", "2", "--seconds-per-size", "0.01", "--no-floor")


def test_a_full_disk_ends_a_benchmark_and_rows_survive(host):
    words = ("--sizes", "8:64K", "--lines", "lines.jsonl", "--json", "whole.json")
    status, err, kept = on_full_disk(host, "12k", *BENCH, *words)
    assert status == 3
    assert "lines.jsonl: No space left on device" in err and "Traceback" not in err
    assert sorted(kept) == ["lines.jsonl", "whole.json"]
    assert json.loads(kept["whole.json"]) == {"old": 1}
    environment, *rows = map(json.loads, kept["lines.jsonl"].splitlines())
    assert environment["environment"]["ranks"] == 2 and len(rows) > 3
    assert all(each["dependent"]["verified"] for each in rows)


def test_a_full_disk_keeps_the_file_that_was_to_be_replaced(host):
    status, err, kept = on_full_disk(host, "8k", *BENCH, "--sizes", "8:64K", "--json", "whole.json")
    assert status == 2 and "cannot write whole.json: No space left on device" in err
    assert list(kept) == ["whole.json"] and json.loads(kept["whole.json"]) == {"old": 1}


def test_results_survive_a_killed_check(tmp_path):
    file = tmp_path / "lines.jsonl"
    command = [sys.executable, "-m", "mpicoll", "check", "-n", "2", "--lines", str(file)]
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet) as process:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            if file.exists() and file.read_text().count("\n") > 5:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
    about, *results = map(json.loads, file.read_text().splitlines())
    assert about["size"] == 2 and "short" in about["about"]
    assert len(results) > 4 and all(each["passed"] == each["cases"] > 0 for each in results)
