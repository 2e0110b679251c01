"""Every lesson is whole, in both languages, and its pieces agree. No MPI."""

import ast
import inspect
import re
import unicodedata
from pathlib import Path

import pytest

from mpicoll import grade
from mpicoll.grade.exercise import Collective, known_exercises
from mpicoll.learn.chinese import FINDINGS
from mpicoll.learn.course import LANGUAGES, lessons
from mpicoll.learn.trial import load
from mpicoll.learn.words import OUTCOMES, PARTS, WORDS, checks, language

LESSONS = list(lessons().values())
NATIVE = re.compile(
    r"\.I?(bcast|reduce|gather|scatter|allgather|allreduce|alltoall|scan|exscan|barrier"
    r"|reduce_scatter|reduce_scatter_block)v?\(",
    re.I,
)
every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
every_language = pytest.mark.parametrize("speech", LANGUAGES)


def function_of(source, name):
    tree = ast.parse(source)
    return next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name)


def test_enough_exercises_from_the_first_message_to_training():
    assert len(LESSONS) >= 20
    assert {lesson.order // 100 for lesson in LESSONS} == set(PARTS)
    assert len({lesson.order for lesson in LESSONS}) == len(LESSONS)


def test_every_folder_is_a_lesson():
    folders = {p.name for p in LESSONS[0].folder.parent.iterdir() if not p.name.startswith("__")}
    assert folders == set(lessons())


def test_the_grader_knows_them():
    known = known_exercises()
    for lesson in LESSONS:
        assert known[lesson.name] is lesson.exercise


@every_lesson
def test_one_signature_in_all_files(lesson):
    arguments = {
        ast.unparse(function_of(lesson.read(file), lesson.name).args)
        for file in ("skeleton.py", "specification.py", "solution.py")
    }
    assert len(arguments) == 1
    for speech in LANGUAGES:
        assert f"`{lesson.name}({arguments.copy().pop()})`" in lesson.text(speech)
    task = lesson.exercise.task
    if isinstance(task, Collective):
        assert ", ".join(task.arguments) in arguments


@every_lesson
@every_language
def test_text_with_picture(lesson, speech):
    text = lesson.text(speech)
    assert lesson.title(speech)
    assert "{picture}" not in text
    picture = lesson.read("picture.txt")
    assert picture.strip() and picture.rstrip() in text
    assert picture.isascii() and max(map(len, picture.splitlines())) <= 100
    assert len(text) > 400 + len(picture) * (speech == "en")


@every_lesson
@every_language
def test_three_hints_and_questions_with_answers(lesson, speech):
    hints = lesson.hints(speech)
    assert len(hints) == 3 and all(hints)
    questions = lesson.questions(speech)
    assert len(questions) >= 2 and all(question and answer for question, answer in questions)
    assert len(questions) == len(lesson.questions("en"))


@every_lesson
def test_solutions_are_short_and_point_to_point(lesson):
    source = lesson.read("solution.py")
    body = source[source.index(f"def {lesson.name}") :]
    assert len(body.splitlines()) <= 40
    assert not NATIVE.search(source.replace(" alltoall(", " _(").replace(" allreduce(", " _("))
    assert "mpicoll" not in source
    assert "mpicoll" not in lesson.read("skeleton.py")


@every_lesson
def test_skeletons_have_no_solution_in_them(lesson):
    assert lesson.read("skeleton.py") != lesson.read("solution.py")
    if lesson.name != "repair_deadlock":  # which is a program to be repaired
        body = function_of(lesson.read("skeleton.py"), lesson.name).body
        assert isinstance(body[-1], ast.Raise) and len(body) == 2


@every_lesson
def test_hints_do_not_contain_the_whole_solution(lesson):
    lines = {
        line.strip()
        for line in ast.unparse(function_of(lesson.read("solution.py"), lesson.name)).splitlines()
    }
    for speech in LANGUAGES:
        said = "\n".join(lesson.hints(speech))
        told = [line for line in lines if len(line) > 25 and line in said]
        assert len(told) <= max(2, len(lines) // 2), told


@every_lesson
def test_bugs_can_be_planted_and_are_explained(lesson):
    for bug in lesson.bugs.values():
        planted = bug.planted(lesson.read("solution.py"))
        ast.parse(planted)
        assert planted != lesson.read("solution.py")
        assert 2 <= bug.size <= 4
    for speech in LANGUAGES:
        assert list(lesson.explanations(speech)) == list(lesson.bugs)
        assert all(lesson.explanations(speech).values())


@every_lesson
def test_a_specification_that_judges_needs_no_mpi(lesson):
    if not isinstance(lesson.exercise.task, Collective):
        source = lesson.read("specification.py")
        calls = set(re.findall(r"comm\.(\w+)", source))
        assert calls <= {"allgather", "Get_rank", "Get_size"}
        assert "mpi4py" not in source


def test_bugs_of_all_kinds():
    outcomes = {bug.outcome for lesson in LESSONS for bug in lesson.bugs.values()}
    assert outcomes == set(OUTCOMES)


@every_lesson
def test_inputs_for_every_number_of_ranks(lesson):
    numpy = pytest.importorskip("numpy")
    source = lesson.read("specification.py")
    if "from mpi4py" in source:
        pytest.skip("its inputs hold an MPI operation")
    module = load(lesson.folder / "specification.py", f"tested_{lesson.name}")
    names = list(inspect.signature(getattr(module, lesson.name)).parameters)
    for size in (1, 2, 3, 5, 8):
        given = module.inputs(size, 3, numpy.random.default_rng(0))
        assert len(given) == size
        assert all(len(arguments) == len([n for n in names if n != "comm"]) for arguments in given)


def test_chinese_is_punctuated_as_chinese():
    wrong = []
    for lesson in LESSONS:
        for file in sorted(lesson.folder.glob("*.zh.md")):
            for line in file.read_text(encoding="utf-8").splitlines():
                plain = re.sub(r"`[^`]*`", "", line) if not line.startswith("    ") else ""
                wrong += [(lesson.name, line) for _ in re.findall(r"[\u4e00-\u9fff][,:;?!]", plain)]
    assert not wrong


def test_every_sentence_in_both_languages():
    for words in (*WORDS.values(), *OUTCOMES.values(), *PARTS.values()):
        assert set(words) == set(LANGUAGES)
        fields = [set(re.findall(r"{(\w+)", text)) for text in words.values()]
        assert fields[0] == fields[1]
    assert checks("zh").keys() == checks("en").keys()
    for meaning in checks("zh").values():
        assert any(unicodedata.name(c, "").startswith("CJK") for c in meaning)


def test_chinese_glosses_are_of_findings_that_exist():
    sources = Path(grade.__file__).parent.glob("*.py")
    text = "\n".join(source.read_text(encoding="utf-8") for source in sources)
    assert [code for code in FINDINGS if f'"{code}"' not in text] == []


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "en_GB.UTF-8"}, "en"),
        ({"LANG": "zh_TW.UTF-8", "LC_ALL": "C"}, "en"),
        ({}, "en"),
    ],
)
def test_language_follows_the_locale(monkeypatch, environment, expected):
    for name in ("LANG", "LC_ALL", "LC_MESSAGES"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert language() == expected
    assert language("zh") == "zh"


def test_documents_name_all_exercises():
    document = Path(__file__).parents[2] / "docs" / "learn.md"
    text = document.read_text(encoding="utf-8")
    assert [name for name in lessons() if f"`{name}`" not in text] == []
