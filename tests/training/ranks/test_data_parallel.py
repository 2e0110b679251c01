"""Data parallel: equal to one process, and each classic mistake is found."""

import data_parallel
import pytest


def test_it_equals_one_process(execute, size):
    report = execute("data_parallel", "--batch", size + 3, "--steps", 4)
    assert report["losses"][-1] < report["losses"][0]
    assert len(report["arrived"]) == 4
    assert all(0 <= arrived <= 4 for arrived in report["arrived"])
    assert all(line["bytes"] == line["expected"] for line in report["traffic"])


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("bucket", (1, 10**9))
def test_any_size_of_bucket(execute, bucket):
    report = execute("data_parallel", "--bucket", bucket, "--steps", 2, "--layers", 2)
    calls = {line["primitive"]: line["calls"] for line in report["traffic"]}
    assert calls["Allreduce"] == 2 * ((3 if bucket == 1 else 1) + 1)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("mistake", data_parallel.MISTAKES[1:])
def test_a_classic_mistake_is_found(execute, size, mistake):
    report = execute(
        "data_parallel", "--batch", size + 1, "--steps", 2, "--mistake", mistake, passes=False
    )
    # On one rank there is nothing to broadcast, to average or to drop.
    found = [check["what"] for check in report["checks"] if not check["passed"]]
    assert found == ["losses", "gradients", "parameters"] or (size == 1 and mistake != "tied")


@pytest.mark.usefixtures("few")
def test_native_collectives_give_the_same(execute):
    ours = execute("data_parallel", "--steps", 3)
    native = execute("data_parallel", "--steps", 3, "--native")
    assert native["losses"] == pytest.approx(ours["losses"], rel=1e-12)
    assert [line["bytes"] for line in native["traffic"]] == [None, None]
    assert [line["calls"] for line in native["traffic"]] == [
        line["calls"] for line in ours["traffic"]
    ]
