"""The command line: what it writes, and how it ends."""

import csv
import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from programs import HEAD, RING

from mpicoll.grade.formats import schema


def grade(*words, cwd):
    command = [sys.executable, "-m", "mpicoll", "grade", "--no-speed", *map(str, words)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300)


def validate(data):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(data, schema())


def test_a_folder_with_all_formats(tmp_path):
    folder = tmp_path / "submissions"
    folder.mkdir()
    (folder / "anna.py").write_text(RING)
    (folder / "ben.py").write_text(HEAD + "def ring_allreduce(comm, a, b, op):\n    b[:] = a\n")
    (folder / "cleo.py").write_text("def ring_allreduce(comm\n")
    words = ["--exercise", "ring_allreduce", "-n", "2", "--json", "r.json", "--junit", "r.xml"]
    words += ["--gradescope", "g.json", "--csv", "r.csv"]
    done = grade("submissions", *words, cwd=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    data = json.loads((tmp_path / "r.json").read_text())
    validate(data)
    assert [s["passed"] for s in data["submissions"]] == [True, False, False]
    assert data["submissions"][2]["checks"][0]["findings"][0]["line"] == 1
    suites = ElementTree.parse(tmp_path / "r.xml").getroot()
    assert [suite.get("failures") for suite in suites] == ["0", "1", "1"]
    scope = json.loads((tmp_path / "g.json").read_text())
    assert sum(test["max_score"] for test in scope["tests"]) == pytest.approx(100, abs=0.1)
    assert sum(test["score"] for test in scope["tests"]) == pytest.approx(scope["score"], abs=0.1)
    rows = list(csv.DictReader((tmp_path / "r.csv").read_text().splitlines()))
    assert [row["passed"] for row in rows] == ["True", "False", "False"]
    assert "SyntaxError" in done.stdout


def test_a_right_file_ends_with_0(tmp_path):
    (tmp_path / "ring.py").write_text(RING)
    done = grade("ring.py", "-n", "2", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["passed"] is True
    assert "100 of 100" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing.py"], "no such file: nothing.py"),
        (["empty.py"], "the function of no exercise"),
        (["empty.py", "--exercise", "ring_alreduce"], "perhaps ring_allreduce"),
        (["empty.py", "--exercise", "ring_allreduce", "-n", "x"], "-n takes numbers"),
        (["empty.py", "--exercise", "ring_allreduce", "-n", "1"], "2 to 64"),
        (["empty.py", "--timeout", "0"], "must be positive"),
        (["empty.py", "--exercises", "none.py"], "no such file: none.py"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_line(tmp_path, words, said):
    (tmp_path / "empty.py").write_text("x = 1\n")
    done = grade(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_missing_function_is_named(tmp_path):
    (tmp_path / "empty.py").write_text("def ring(comm):\n    pass\n")
    done = grade("empty.py", "--exercise", "ring_allreduce", "-n", "2", cwd=tmp_path)
    assert done.returncode == 1
    assert "no function ring_allreduce; it defines ring" in done.stdout
    assert "0 of 100" in done.stdout
