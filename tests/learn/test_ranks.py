"""On real ranks: solutions get full marks, skeletons none, and bugs do what is said of them.

The quick part takes one exercise of each kind; `pytest -m big tests/learn` takes all, in minutes.
"""

import json
from pathlib import Path

import pytest

from mpicoll.__main__ import main
from mpicoll.launch.supervise import run
from mpicoll.learn import progress
from mpicoll.learn.breaking import happens
from mpicoll.learn.checking import check_file, told
from mpicoll.learn.course import lessons

ROOT = Path(__file__).parents[2]
QUICK = ("who_am_i", "repair_deadlock", "ring_allreduce", "zero")
FEW = ("ping_pong", "nonblocking_exchange", "gather", "binomial_bcast", "any_size_allreduce")
FEW += ("bruck_alltoall", "cost_model", "tensor_parallel", "pipeline", "moe_dispatch", "ulysses")
QUICK_BUGS = ("one_tag_two_ranks", "all_send_first_large", "one_step_more", "last_rank_sends_too")
BUGS = [(lesson.name, bug) for lesson in lessons().values() for bug in lesson.bugs]


def chosen(names, quick):
    return [name if name in quick else pytest.param(name, marks=pytest.mark.big) for name in names]


def graded(lesson, file, tmp_path, sizes=()):
    path = tmp_path / f"{lesson.name}.py"
    path.write_text(lesson.read(file), encoding="utf-8")
    report = check_file(lesson, path, sizes)
    return report, told(report, lesson, path, "en", True)


def full_marks(report, text):
    """All checks passed; that of speed, on a machine with other work, is not looked at."""
    looked_at = [c for c in report.checks if c.name != "speed" and c.status != "not applicable"]
    assert len(looked_at) >= 4
    assert all(c.status == "passed" and c.points == c.most for c in looked_at), text


@pytest.mark.parametrize("name", FEW)
def test_solutions_pass_on_few_ranks(name, tmp_path):
    sizes = tuple(sorted(size for size in lessons()[name].exercise.sizes if size > 1)[:1])
    full_marks(*graded(lessons()[name], "solution.py", tmp_path, sizes))


@pytest.mark.big
@pytest.mark.parametrize("name", lessons())
def test_solutions_get_full_marks(name, tmp_path):
    full_marks(*graded(lessons()[name], "solution.py", tmp_path))


@pytest.mark.parametrize("name", chosen(lessons(), QUICK))
def test_skeletons_get_no_points_and_an_explanation(name, tmp_path):
    lesson = lessons()[name]
    report, text = graded(lesson, "skeleton.py", tmp_path, lesson.exercise.sizes[:2])
    assert report.score == 0, text
    found = [finding for check in report.checks for finding in check.findings]
    assert found and all(finding.text for finding in found), text
    assert "Traceback" not in text


@pytest.mark.parametrize(
    ("name", "bug"),
    [
        pair if pair[1] in QUICK_BUGS else pytest.param(*pair, marks=pytest.mark.big)
        for pair in BUGS
    ],
)
def test_bugs_do_what_is_said_of_them(name, bug):
    lesson = lessons()[name]
    planted = lesson.bugs[bug]
    # What ends must not be taken for a hang on a busy machine.
    happened = happens(lesson, planted, 6 if planted.outcome == "hang" else 90)
    assert happened.outcome == planted.outcome, happened.seen
    if planted.outcome == "hang":
        # All got as far as the exercise itself: it was not a slow start.
        assert f"{name}.py" in happened.seen


@pytest.mark.parametrize("name", chosen(lessons(), ("ping_pong", "ring_allreduce", "moe_dispatch")))
def test_files_of_a_folder_run_as_its_readme_says(name, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert main(["learn", "start", name, str(tmp_path / name)]) == 0
    folder = tmp_path / name
    shown = run(2, ["specification.py"], timeout=90, echo=False, directory=folder)
    assert shown.returncode == 0, shown.report
    assert "rank 0" in shown.output and "rank 1" in shown.output
    skeleton = run(2, [f"{name}.py"], timeout=15, echo=False, directory=folder)
    assert skeleton.returncode != 0
    solution = lessons()[name].read("solution.py")
    (folder / f"{name}.py").write_text(
        f"{solution}\n\nif __name__ == '__main__':\n"
        f"    from specification import compare\n\n    compare({name})\n"
    )
    right = run(2, [f"{name}.py"], timeout=90, echo=False, directory=folder)
    assert right.returncode == 0 and right.output.count("as specified") == 2, right.output


def test_a_learner_passes_an_exercise(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    main(["learn", "start", "who_am_i"])
    assert main(["learn", "check", "who_am_i/who_am_i.py", "--lang", "en"]) == 1
    assert "Not yet: 0 of 100" in capsys.readouterr().out
    assert "passed" not in progress.read()["who_am_i"]
    solution = lessons()["who_am_i"].read("solution.py")
    (tmp_path / "who_am_i" / "who_am_i.py").write_text(solution)
    assert main(["learn", "check", "who_am_i/who_am_i.py", "-n", "2"]) == 0
    assert "passed" not in progress.read()["who_am_i"]  # only some sizes were looked at
    capsys.readouterr()
    assert main(["learn", "check", "who_am_i/who_am_i.py", "--json", "-", "--lang", "zh"]) == 0
    assert json.loads(capsys.readouterr().out)["submissions"][0]["score"] == 100
    assert progress.read()["who_am_i"]["attempts"] == 3
    assert main(["learn", "solution", "who_am_i"]) == 0


def test_a_prediction_is_compared_with_the_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    progress.note("ring_allgather", passed=True)
    words = ["learn", "break", "ring_allgather", "one_step_more", "--lang", "en", "--timeout", "90"]
    assert main([*words, "--predict", "wrong"]) == 1
    assert "You said: wrong. It did: right. Why?" in capsys.readouterr().out
    assert main([*words, "--predict", "right", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "right"
    said = progress.read()["ring_allgather"]["predictions"]
    assert said == {"one_step_more": "wrong"}  # the first one counts


def test_the_notebook_runs_cell_by_cell(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    notebook = json.loads((ROOT / "docs/teaching/ring.ipynb").read_text(encoding="utf-8"))
    names = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    text = capsys.readouterr().out
    assert names["status"] == 1 and "FAILED  result" in text
    assert "hint 1 of 3" in text and "round 2" in text and "Traceback" not in text
