"""The programs of examples/training, started as their first lines say."""

import json
from pathlib import Path

import pytest

from mpicoll.launch.supervise import run

PROGRAMS = Path(__file__).parents[2] / "examples" / "training"


def started(n, program, *words):
    return run(n, [str(PROGRAMS / f"{program}.py"), *words], timeout=120)


def test_each_program_says_how_to_run_it():
    for path in PROGRAMS.glob("*.py"):
        text = path.read_text()
        if "common.script(main)\n" in text and path.stem != "common":
            assert f"python examples/training/{path.name}\n" in text, path.name


def test_a_report_and_the_exit_status(tmp_path):
    file = tmp_path / "report.json"
    words = ("--steps", "2", "--json", str(file))
    outcome = started(2, "data_parallel", *words)
    assert outcome.returncode == 0, outcome.output
    assert "2(P-1)/P (M + 8) a step  ok" in outcome.output
    assert json.loads(file.read_text())["passed"]
    outcome = started(2, "data_parallel", *words, "--mistake", "broadcast")
    assert outcome.returncode == 1, outcome.output
    assert "WRONG" in outcome.output
    assert not json.loads(file.read_text())["passed"]


@pytest.mark.parametrize("words", [(), ("--native",)], ids=["ours", "native"])
def test_under_mpicoll_run(words):
    """All communicators are mpicoll's there, but for those that --native asks for."""
    program = str(PROGRAMS / "linear_layers.py")
    outcome = run(2, ["-m", "mpicoll", "run", program, "--steps", "2", *words], timeout=120)
    assert outcome.returncode == 0, outcome.output
    assert f"collectives of {'native' if words else 'mpicoll'}" in outcome.output


@pytest.mark.parametrize("words", [("--mistake", "typing"), ("--steps", "many")])
def test_wrong_arguments_are_said_once(words):
    outcome = started(2, "data_parallel", *words)
    assert outcome.returncode == 2
    assert outcome.output.count("error: ") == 1
    assert "Traceback" not in outcome.output
