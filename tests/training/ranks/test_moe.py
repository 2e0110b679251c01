"""Experts on other ranks: equal to one process in which every expert computes every token."""

import pytest


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("--experts 8 --k 2", "dropped"),
        ("--experts 3 --k 1 --batch 7 --capacity 0.5", "dropped"),  # ranks without experts
        ("--experts 40 --k 1 --batch 2 --length 4", "empty"),  # ranks without sequences as well
        ("--experts 4 --k 4 --capacity 1", None),  # every token to every expert, none over
    ],
)
def test_it_equals_one_process(execute, words, wanted):
    report = execute("moe", *words.split(), "--steps", 3)
    if wanted:
        assert report[wanted] > 0
    else:
        assert report["dropped"] == report["empty"] == 0


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("mistake", ["passed", "average", "capacity"])
def test_a_classic_mistake_is_found(execute, size, mistake):
    words = "--batch 8 --k 1 --capacity 0.8 --steps 2 --mistake".split()
    report = execute("moe", *words, mistake, passes=False)
    wrong = {check["what"] for check in report["checks"] if not check["passed"]}
    assert wrong == {"losses", "last gradients", "parameters"}


@pytest.mark.usefixtures("few")
def test_native_collectives_give_the_same(execute):
    ours = execute("moe", "--steps", 2)
    native = execute("moe", "--steps", 2, "--native")
    assert native["losses"] == pytest.approx(ours["losses"], rel=1e-13)
