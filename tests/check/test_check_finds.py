"""A check must fail where something is wrong, and say what: planted faults are found and named."""

import json
from pathlib import Path

import pytest

from mpicoll.launch.supervise import run

BROKEN = str(Path(__file__).with_name("broken.py"))


def check(fault, collective, *words, algorithm=None, size=3, timeout=60):
    """Run `mpicoll check` in place on ranks that have the fault."""
    argv = [BROKEN, fault, "check", collective, "--algorithm", algorithm or fault, *words]
    return run(size, argv, timeout=timeout, echo=False)


@pytest.mark.parametrize(
    ("fault", "collective", "texts"),
    [
        (
            "wrong_chunk",
            "Allgather",
            [
                "first failure:\nallgather wrong_chunk (blocking), P = 3: Allgather",
                "traced: element 0 of block 1 of rank 0's result came from rank 2's block 0, "
                "element 0; expected rank 1's block 0, element 0",
            ],
        ),
        (
            "dropped",
            "allreduce",
            [
                "allreduce dropped",
                "combines ranks 0 2, expected 0 1 2: rank 1 missing",
            ],
        ),
        ("doubled", "allreduce", ["combines ranks 0 0 1 2, expected 0 1 2: rank 0 twice"]),
        ("input_written", "allreduce", ["rank 0: the send buffer was changed: element 0"]),
        ("other_bits", "allreduce", ["its result has not the same bits as rank 0's"]),
        ("stray", "bcast", ["rank 1: a message from rank 0 was never received"]),
        ("leaky", "barrier", ["ms before rank", "entered"]),
    ],
)
def test_broken_algorithm(fault, collective, texts):
    outcome = check(fault, collective)
    assert outcome.returncode == 1, outcome.output + outcome.report
    assert "FAILED" in outcome.output
    for text in texts:
        assert text in outcome.output


def test_operands_that_changed_places():
    outcome = check("swapped", "allreduce", size=2)
    assert outcome.returncode == 1
    assert "matrix product" in outcome.output
    assert "combines ranks 1 0, expected 0 1: the operands changed places" in outcome.output


@pytest.mark.parametrize(
    ("fault", "collective", "text"),
    [
        ("beyond", "bcast", "memory was changed that is not part of the result: 0 bytes behind"),
        ("output_touched", "reduce", "memory was changed that is not part of the result: byte 0"),
        ("secret", "reduce", "messages were sent through the channel, the plan has"),
    ],
)
def test_broken_execution(fault, collective, text):
    outcome = check(fault, collective, algorithm="binomial")
    assert outcome.returncode == 1, outcome.output + outcome.report
    assert f"{collective} binomial (" in outcome.output
    assert text in outcome.output


@pytest.mark.parametrize("collective", ["bcast", "reduce"])
def test_nothing_is_found_where_nothing_is_broken(collective):
    outcome = check("none", collective, algorithm="binomial")
    assert outcome.returncode == 0, outcome.output + outcome.report
    assert "all passed" in outcome.output


def test_native_collective_is_refused():
    outcome = check("native", "reduce", algorithm="binomial")
    assert outcome.returncode == 1
    assert "NativeCollectiveError: Barrier was called on a private communicator" in outcome.report
    assert "reduce binomial (blocking)" in outcome.report


def test_exception_names_the_case():
    outcome = check("raising", "bcast")
    assert outcome.returncode == 1
    assert "rank 1: bcast raising (blocking): Bcast, root 0, int8, count 4" in outcome.report
    assert "rank 1 cannot go on" in outcome.report


def test_hang_in_place_names_case_and_place():
    outcome = check("hang", "bcast", "--timeout", "2", timeout=30)
    assert outcome.returncode == 124
    assert outcome.seconds < 20
    said = outcome.output + outcome.report
    assert "no end after 2 s of bcast hang" in said
    assert "in run: channel.Recv" in said


@pytest.fixture
def broken(monkeypatch):
    """The command in this process, whose ranks have the broken algorithms."""
    import mpicoll.registry as registry
    from mpicoll.commands import check as command

    monkeypatch.setattr(command, "PROGRAM", [BROKEN, "none"])
    registry.collectives()  # which loads the algorithms there are
    known = {name: dict(family) for name, family in registry._ALGORITHMS.items()}
    import importlib.util

    spec = importlib.util.spec_from_file_location("broken", BROKEN)
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    yield
    for name, family in registry._ALGORITHMS.items():
        for added in set(family) - set(known[name]):
            registry.forget(name, added)


def test_launched_failure_in_json(broken, tmp_path, capfd):
    from mpicoll.__main__ import main

    path = tmp_path / "facts.json"
    words = ["check", "allreduce", "--algorithm", "dropped", "-n", "3,4", "--json", str(path)]
    assert main(words) == 1
    assert "in all:" in capfd.readouterr().out
    facts = json.loads(path.read_text())
    assert facts["ok"] is False and facts["status"] == 1
    assert [each["size"] for each in facts["sizes"]] == [3, 4]
    for each in facts["sizes"]:
        [result] = each["results"]
        assert result["algorithm"] == "dropped"
        assert result["cases"] - result["passed"] == each["failed"] > 0
        first = each["failures"][0]
        assert first["call"] == "Allreduce" and first["algorithm"] == "dropped"
        assert " missing" in first["explanation"]
        assert first["faults"][0]["expected"] != first["faults"][0]["got"]


def test_launched_hang_ends_with_the_place_of_every_rank(broken, capfd):
    from mpicoll.__main__ import main

    assert (
        main(["check", "bcast", "--algorithm", "hang", "-n", "3", "--timeout", "2", "--json", "-"])
        == 124
    )
    out, err = capfd.readouterr()
    facts = json.loads(out)
    assert facts["status"] == 124 and "no end after 2 s" in facts["sizes"][0]["ended"]
    assert "the check does not move on" in err
    assert "rank 2: no end after 2 s of bcast hang (blocking): Bcast, root" in err


def test_launched_crash_names_the_case(broken, capfd):
    from mpicoll.__main__ import main

    assert main(["check", "bcast", "--algorithm", "crash", "-n", "2"]) == 1
    err = capfd.readouterr().err
    assert "the ranks were at:" in err
    assert "bcast crash (blocking): Bcast, root 0" in err
