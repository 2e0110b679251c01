"""The judge that runs a specification on threads."""

import numpy as np
import pytest

from mpicoll.learn.course import lessons
from mpicoll.learn.specified import together
from mpicoll.learn.trial import differences


def test_allgather_gives_everyone_copies_in_rank_order():
    def collect(comm, mine):
        first = comm.allgather(mine)
        mine += 1
        return first, comm.allgather(mine), comm.Get_rank(), comm.Get_size()

    results = together(collect, [[np.array([10 * rank])] for rank in range(5)])
    for rank, (first, second, own, size) in enumerate(results):
        assert [a[0] for a in first] == [0, 10, 20, 30, 40]
        assert [a[0] for a in second] == [1, 11, 21, 31, 41]
        assert (own, size) == (rank, 5)


def test_a_failure_of_one_rank_ends_all():
    def fails(comm):
        if comm.Get_rank() == 1:
            raise KeyError("own")
        return comm.allgather(None)

    with pytest.raises((KeyError, RuntimeError)):
        together(fails, [[] for _ in range(3)])


@pytest.mark.parametrize("name", ["safe_exchange", "zero", "moe_dispatch", "cost_model"])
def test_a_judge_accepts_what_is_specified_and_nothing_else(name):
    task = lessons()[name].exercise.task
    case = dict(task.cases[0])
    given = task.inputs(case, 2, np.random.default_rng(3))
    from mpicoll.learn.trial import copied, load

    module = load(lessons()[name].folder / "specification.py", "judged")
    done = [copied(arguments) for arguments in given]
    results = together(getattr(module, name), done)
    outputs = [{"result": r, "arguments": a} for r, a in zip(results, done, strict=True)]
    assert task.judge(case, 2, given, outputs) == []
    untouched = [{"result": None, "arguments": copied(a)} for a in given]
    assert task.judge(case, 2, given, untouched)
    assert task.judge(case, 2, given, [None, None])
    outputs[1]["arguments"] = outputs[1]["arguments"][:-1]
    assert [rank for rank, _ in task.judge(case, 2, given, outputs)] == [1]


def test_differences_name_what_must_not_change():
    a, b = np.zeros(2), np.ones(2)
    assert differences(["x"], [a], [a.copy()], [a]) == []
    assert "must not change" in differences(["x"], [b], [a], [a])[0]
    assert "not changed at all" in differences(["x"], [a], [b], [a])[0]
    assert "should be" in differences(["result"], [None], [1.0], [None])[0]
    assert differences(["x"], [np.zeros((2, 1))], [a], [b])
    assert differences(["x"], [np.array([np.nan])], [np.array([np.nan])], [a]) == []
