"""Pipelines on real ranks: both schedules equal one process, and their spans are possible ones."""

import pytest
import schedules


def test_unequal_stages_and_microbatches(execute, size):
    """5 blocks, 7 sequences in 3 microbatches; on 8 ranks some stages have no block."""
    report = execute(
        "pipeline", "--layers", 5, "--batch", 7, "--microbatches", 3, "--steps", 3, "--pad", 1
    )
    for name, trace in report["traces"].items():
        spans = [
            schedules.Span(s, schedules.Action(a[0], int(a[1:])), *t) for s, a, *t in trace["spans"]
        ]
        ends = {(span.stage, span.action): span.end for span in spans}
        assert len(spans) == len(ends) == 2 * 3 * size
        for span in spans:
            needed = schedules.source(span.action, span.stage, size)
            assert needed is None or ends[needed, span.action] <= span.begin
            mine = [a for s, a, *_ in trace["spans"] if s == span.stage]
            expected = schedules.SCHEDULES[name](span.stage, size, 3)
            assert mine == [str(action) for action in expected]
        assert 0 < trace["bubble"] < 1


@pytest.mark.usefixtures("few")
def test_native_collectives_give_the_same(execute):
    ours = execute("pipeline", "--steps", 2, "--pad", 0)
    native = execute("pipeline", "--steps", 2, "--pad", 0, "--native")
    assert native["losses"] == pytest.approx(ours["losses"], rel=1e-13)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("mistake", ["mean", "tied", "latest"])
def test_a_classic_mistake_is_found(execute, size, mistake):
    report = execute(
        "pipeline",
        "--batch",
        7,
        "--microbatches",
        4,
        "--steps",
        2,
        "--pad",
        0,
        "--layers",
        size,
        "--mistake",
        mistake,
        passes=False,
    )
    wrong = {check["what"] for check in report["checks"] if not check["passed"]}
    schedules = {"1f1b"} if mistake == "latest" else {"gpipe", "1f1b"}
    # With two microbatches or more on their way, 1F1B does not go back in the opposite order.
    assert wrong == {
        f"{name}: {what}"
        for name in schedules
        for what in ("losses", "last gradients", "parameters")
    }
