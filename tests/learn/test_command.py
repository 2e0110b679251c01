"""The command as a learner types it; what needs ranks is in test_ranks.py."""

import json

import pytest

from mpicoll.__main__ import main
from mpicoll.learn import progress
from mpicoll.learn.course import lessons


@pytest.fixture(autouse=True)
def own_state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("LANG", "en_GB.UTF-8")
    for name in ("LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def learn(capsys, *words):
    status = main(["learn", *words])
    captured = capsys.readouterr()
    return status, captured.out + captured.err


def test_list_has_all_exercises_in_both_languages(capsys):
    for speech in ("en", "zh"):
        status, text = learn(capsys, "list", "--lang", speech)
        assert status == 0
        for lesson in lessons().values():
            assert lesson.name in text and lesson.title(speech) in text


def test_without_an_action_it_lists(capsys):
    assert learn(capsys) == learn(capsys, "list")


def test_list_as_json(capsys):
    status, text = learn(capsys, "list", "--json", "-")
    assert status == 0
    assert [one["name"] for one in json.loads(text)] == list(lessons())


@pytest.mark.parametrize("name", lessons())
def test_start_makes_a_folder_with_everything(capsys, own_state, name):
    for speech in ("en", "zh"):
        folder = own_state / speech
        status, text = learn(capsys, "start", name, str(folder), "--lang", speech)
        assert status == 0 and name in text
        names = {path.name for path in folder.iterdir()}
        assert names == {f"{name}.py", "specification.py", "README.md", "AGENTS.md"}
        readme = (folder / "README.md").read_text(encoding="utf-8")
        assert "{" not in readme.replace("{0,1", "").partition("|")[2]
        assert f"mpicoll learn check {name}.py" in readme


def test_the_next_exercise_is_beside_this_one(capsys, own_state, monkeypatch):
    learn(capsys, "start", "gather")
    monkeypatch.chdir(own_state / "work" / "gather")
    assert learn(capsys, "start", "scatter")[0] == 0
    assert (own_state / "work" / "scatter" / "scatter.py").exists()


def test_start_never_overwrites(capsys, own_state):
    assert learn(capsys, "start", "gather")[0] == 0
    mine = own_state / "work" / "gather" / "gather.py"
    mine.write_text("my work")
    status, text = learn(capsys, "start", "gather")
    assert status == 2 and "exists already" in text
    assert mine.read_text() == "my work"


def test_reset_keeps_the_file_and_puts_the_skeleton_back(capsys, own_state):
    learn(capsys, "start", "gather")
    folder = own_state / "work" / "gather"
    (folder / "gather.py").write_text("my work")
    for number in (1, 2):
        progress.note("gather", folder=str(folder))
        status, text = learn(capsys, "reset", "gather")
        assert status == 0 and f"gather.old{number}.py" in text
        assert (folder / f"gather.old{number}.py").read_text() == "my work"
        assert (folder / "gather.py").read_text() == lessons()["gather"].read("skeleton.py")
        assert "gather" not in progress.read()
        (folder / "gather.py").write_text("my work")
    assert learn(capsys, "reset")[0] == 2
    learn(capsys, "start", "scatter")
    assert learn(capsys, "reset", "--all")[0] == 0
    assert progress.read() == {}


def test_hints_come_one_after_the_other(capsys):
    texts = [learn(capsys, "hint", "scatter")[1] for _ in range(4)]
    assert [text.splitlines()[0] for text in texts] == [
        f"hint {number} of 3" for number in (1, 2, 3, 3)
    ]
    assert "--reveal" in texts[3] and "--reveal" not in texts[2]
    assert progress.read()["scatter"]["hints"] == 3
    assert "hint 1 of 3" in learn(capsys, "hint", "scatter", "--level", "1")[1]


def test_the_solution_is_locked_until_passed(capsys):
    for action in (["solution", "scatter"], ["questions", "scatter"]):
        status, text = learn(capsys, *action)
        assert status == 1 and "not passed yet" in text and "def scatter" not in text
    assert learn(capsys, "break", "gather", "own_piece_forgotten", "--predict", "hang")[0] == 1
    status, text = learn(capsys, "solution", "scatter", "--reveal")
    assert status == 0 and "def scatter" in text and "1. " in text
    assert progress.read()["scatter"]["revealed"] is True
    progress.note("gather", passed=True)
    assert "def gather" in learn(capsys, "solution", "gather")[1]
    answer = lessons()["gather"].questions("en")[0][1].split()[0]
    assert answer in learn(capsys, "questions", "gather", "--answers")[1]


def test_status_counts(capsys):
    progress.note("gather", passed=True)
    progress.note("scatter", started=True, hints=2, points=40.0)
    status, text = learn(capsys, "status")
    assert status == 0
    assert f"1 of {len(lessons())} exercises passed, 1 under way" in text
    assert "2 hint(s)" in text and "40 points" in text
    facts = json.loads(learn(capsys, "status", "--json", "-")[1])
    assert facts["exercises"]["scatter"]["hints"] == 2


def test_a_first_date_of_passing_stays(own_state):
    progress.note("gather", passed=True)
    first = progress.read()["gather"]["passed"]
    progress.note("gather", passed=True, points=100)
    assert progress.read()["gather"] == {"passed": first, "points": 100}


def test_break_lists_bugs_and_shows_the_change(capsys, monkeypatch):
    status, text = learn(capsys, "break", "ring_allreduce")
    assert status == 0 and "rebinding" in text and "not yet predicted" in text
    names = [b for lesson in lessons().values() for b in lesson.bugs]
    everything = learn(capsys, "break")[1]
    assert all(name in everything for name in names)
    monkeypatch.setattr("sys.stdin", None)
    status, text = learn(capsys, "break", "ring_allreduce", "rebinding", "--reveal")
    assert status == 0
    assert "-    result[rank][:] = partial" in text and "+    result[rank] = partial" in text
    assert "--predict" in text


@pytest.mark.parametrize(
    "words",
    [
        ["start", "ring"],
        ["hint", "nothing_like_it"],
        ["check", "missing.py"],
        ["check", "."],
        ["break", "gather", "no_such_bug", "--reveal"],
    ],
)
def test_wrong_words_are_one_clear_line(capsys, words):
    status, text = learn(capsys, *words)
    assert status == 2
    assert text.startswith("mpicoll: ") and text.count("\n") == 1


def test_similar_names_are_offered(capsys):
    assert "ring_allreduce" in learn(capsys, "hint", "ringallreduce")[1]


@pytest.mark.parametrize("content", ["{", "[]", '{"gather": 3}'])
def test_a_damaged_state_file_is_said(capsys, content):
    progress.path().parent.mkdir(parents=True)
    progress.path().write_text(content)
    status, text = learn(capsys, "status")
    assert status == 2 and "course.json" in text and text.count("\n") == 1


def test_a_file_is_known_by_its_function_too(capsys, own_state, monkeypatch):
    from mpicoll.commands import CommandError
    from mpicoll.learn.checking import lesson_of

    file = own_state / "mine.py"
    file.write_text("def gather(comm, sendbuf, recvbuf, root): ...\n")
    assert lesson_of(file).name == "gather"
    for text in ("x = 1\n", "def gather(): ...\ndef scatter(): ...\n", "def ("):
        file.write_text(text)
        with pytest.raises(CommandError):
            lesson_of(file)


def test_a_file_with_several_functions_is_graded_by_its_name(own_state):
    from mpicoll.commands import CommandError
    from mpicoll.commands.grade import _exercise
    from mpicoll.grade.exercise import known_exercises

    file = own_state / "ring_allreduce.py"
    text = "".join(f"def {name}(): ...\n" for name in ("ring_allgather", "ring_allreduce"))
    file.write_text(text)
    assert _exercise(file, None, known_exercises()).name == "ring_allreduce"
    other = own_state / "mine.py"
    other.write_text(text)
    with pytest.raises(CommandError, match="several"):
        _exercise(other, None, known_exercises())
