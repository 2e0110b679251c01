"""What needs no ranks: traces, messages, chains, demands, counts."""

import numpy as np
import pytest

from mpicoll.grade import trace
from mpicoll.grade.cases import Case, cases_of, number_of
from mpicoll.grade.exercise import CHECKS, Collective, Exercise
from mpicoll.grade.messages import traffic
from mpicoll.grade.operations import affine, commutes
from mpicoll.grade.standard import STANDARD
from mpicoll.grade.structure import demand
from mpicoll.grade.values import error_bound, expected, inputs
from mpicoll.grade.wire import pack, unpack


def test_traced_sums_tell_their_contributors():
    total = trace.elements(0, 3) + trace.elements(1, 3) + 2 * trace.elements(7, 3)
    found = trace.decode(total, 8)
    assert [c.counts for c in found] == [(1, 1, 0, 0, 0, 0, 0, 2)] * 3
    assert [c.index for c in found] == [0, 1, 2]
    mixed = trace.decode(trace.elements(0, 2) + trace.elements(1, 2, first=1), 2)
    assert mixed[0].index == -1


def test_memory_that_was_never_written_is_recognised():
    for dtype in ("float64", "float32", "int32", "int64", "complex128"):
        array = np.zeros((2, 3), dtype)
        trace.fill(array, trace.UNTOUCHED)
        assert trace.is_filled(array, trace.UNTOUCHED).all()
        array[1, 2] = 3
        assert trace.is_filled(array, trace.UNTOUCHED).sum() == 5
    values = np.zeros(2)
    trace.fill(values, trace.POISON)
    assert [c.state for c in trace.decode(values + 1.0, 4)] == ["poison"] * 2


def _op(number, kind, peer, post, done, tag=0, **more):
    facts = {"id": number, "kind": kind, "peer": peer, "post": post, "done": done, "tag": tag}
    if kind == "recv" and done is not None:
        facts |= {"source": peer, "got_tag": tag}
    return facts | {"comm": "w", "call": kind, "line": number, "function": "f"} | more


def test_a_chain_is_as_long_as_the_messages_that_wait_for_each_other():
    # Everybody at once, then one after the other around the ring.
    together = {
        r: [_op(0, "send", (r + 1) % 3, 1, 2), _op(1, "recv", (r - 1) % 3, 3, 4)] for r in range(3)
    }
    assert traffic(together).depth == 1
    in_turn = {r: [_op(0, "recv", r - 1, 1, 2), _op(1, "send", (r + 1) % 3, 3, 4)] for r in (1, 2)}
    in_turn[0] = [_op(0, "send", 1, 1, 2), _op(1, "recv", 2, 3, 4)]
    seen = traffic(in_turn)
    assert seen.depth == 3
    assert not seen.sends and not seen.receives


def test_lonely_messages_are_found():
    seen = traffic({0: [_op(0, "send", 1, 1, 2, tag=1)], 1: [_op(0, "recv", 0, 1, None, tag=2)]})
    assert len(seen.sends) == len(seen.receives) == 1
    assert traffic({0: [_op(0, "send", 1, 1, 2)], 1: [_op(0, "recv", 0, 1, None)]}).pairs


def test_the_demand_is_that_of_the_algorithm():
    ring = demand(STANDARD["ring_allreduce"], Case("structure", 4, 12, op="SUM"))
    assert (ring.messages, ring.elements, ring.rounds) == ([6] * 4, [18] * 4, 6)
    tree = demand(STANDARD["binomial_bcast"], Case("structure", 5, 15, root=2))
    assert sum(tree.messages) == 4 and max(tree.messages) == 3


@pytest.mark.parametrize("name", ["allreduce", "reduce", "scan", "exscan", "reduce_scatter"])
def test_expected_results_by_hand(name):
    task = Collective(name, ("comm", "sendbuf", "recvbuf", "op"))
    case = Case("result", 3, 2, "int64", "affine")
    given = inputs(task, case, np.random.default_rng(1))
    got = expected(task, case, given)
    whole = affine(affine(given[0], given[1]), given[2])
    assert not commutes("affine") and (whole != affine(affine(given[1], given[0]), given[2])).any()
    if name == "allreduce":
        assert all((g == whole).all() for g in got)
    elif name == "reduce":
        assert (got[0] == whole).all() and got[1] is None
    elif name == "reduce_scatter":
        assert (np.concatenate(got) == whole).all()
    elif name == "scan":
        assert (got[1] == affine(given[0], given[1])).all() and (got[2] == whole).all()
    else:
        assert got[0] is None and (got[2] == affine(given[0], given[1])).all()
    assert error_bound(case, given) == 0


def test_moving_collectives_by_hand():
    case = Case("result", 3, 2, "int64")
    for name in ("bcast", "scatter", "gather", "allgather", "alltoall"):
        task = Collective(name, ("comm", "sendbuf", "recvbuf"))
        given = inputs(task, case, np.random.default_rng(2))
        got = expected(task, case, given)
        if name == "alltoall":
            assert (got[1][4:6] == given[2][2:4]).all()
        elif name == "scatter":
            assert (got[2] == given[0][4:6]).all()
        elif name == "gather":
            assert (got[0][2:4] == given[1]).all() and got[1] is None


def test_messages_of_ranks_are_data_only():
    tree = {"a": [1, 2.5, None, "x"], "b": np.arange(3, dtype="f4"), "c": 1j}
    back = unpack(pack(tree))
    assert back["a"] == tree["a"] and back["c"] == 1j
    assert back["b"].dtype == np.float32 and (back["b"] == tree["b"]).all()
    assert "__repr__" in unpack(pack(np.array([object()])))


def test_exercises_name_known_checks_only():
    with pytest.raises(ValueError, match="no such check: beauty"):
        Exercise("x", "X", Collective("barrier", ("comm",)), rubric={"beauty": 1})
    assert set(Exercise("x", "X", Collective("barrier", ("comm",))).rubric) <= set(CHECKS)


def test_counts_are_written_with_the_number_of_ranks():
    assert [number_of(word, 5) for word in (0, "P-1", "P", "P+1", "2*P", "3*P+2")] == [
        0,
        4,
        5,
        6,
        10,
        17,
    ]
    with pytest.raises(ValueError, match="a count is"):
        number_of("n", 4)
    plan = list(cases_of(STANDARD["binomial_bcast"], (4, 3)))
    assert {case.root for case in plan if case.check == "roots"} == {0, 1, 2, 3}
    assert {case.count for case in plan if case.check == "counts"} >= {0, 1, 3, 4, 5, 12, 10001}
