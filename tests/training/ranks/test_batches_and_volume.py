"""Batches, metrics and results; and how much is sent, counted and planned."""

import batches_and_metrics
import pytest


@pytest.mark.parametrize("batch", (2, 8, 11))
def test_batches_and_metrics(execute, batch):
    report = execute("batches_and_metrics", "--steps", 3, "--batch", batch, "--prompts", 3)
    assert len(report["losses"]) == 3
    assert [len(text) for text in report["texts"]] == [16] * 3


@pytest.mark.usefixtures("few")
def test_a_dropped_tail_is_found(execute, size, monkeypatch):
    """A Scatter of equal parts leaves out the rows that are left over."""
    scatter = batches_and_metrics.scatter

    def dropping(group, rows, number, width):
        whole = number - number % size
        return scatter(group, None if rows is None else rows[:whole], whole, width)

    monkeypatch.setattr(batches_and_metrics, "scatter", dropping)
    words = ("--steps", 2, "--batch", size + 1, "--prompts", size, "--generate", 2)
    report = execute("batches_and_metrics", *words, passes=False)
    wrong = {check["what"] for check in report["checks"] if not check["passed"]}
    assert {"loss", "parameters"} <= wrong


@pytest.mark.usefixtures("few")
def test_a_mean_of_means_is_found(execute, size, monkeypatch):
    metrics = batches_and_metrics.metrics

    def averaged(config, p, tokens, targets):
        sums, worst = metrics(config, p, tokens, targets)
        return sums / max(1, sums[2]), worst  # each rank's mean counts alike

    monkeypatch.setattr(batches_and_metrics, "metrics", averaged)
    report = execute("batches_and_metrics", "--steps", 2, "--batch", size + 1, passes=False)
    assert "loss" in {check["what"] for check in report["checks"] if not check["passed"]}


@pytest.mark.usefixtures("few")
def test_native_collectives_give_the_same(execute):
    ours = execute("batches_and_metrics", "--steps", 2)
    native = execute("batches_and_metrics", "--steps", 2, "--native")
    assert native["losses"] == pytest.approx(ours["losses"], rel=1e-12)
    assert native["texts"] == ours["texts"]


def test_volume(execute, size):
    report = execute("volume")
    assert report["sizes"] == [P for P in range(2, size + 1) if size % P == 0]
    bytes_of = {(line["primitive"], line["group"]): line["bytes"] for line in report["traffic"]}
    M = 240 * 120 * 2 * 8
    for P in report["sizes"]:
        gathered = bytes_of["Allgatherv", f"AllGather, P = {P}"]
        exchanged = bytes_of["Alltoallv", f"AllToAll, P = {P}"]
        assert gathered == (P - 1) / P * M
        assert gathered == P * exchanged
        pair = bytes_of["Reduce_scatter", f"ZeRO, P = {P}"]
        pair += bytes_of["Allgatherv", f"ZeRO, P = {P}"]
        assert pair == bytes_of["Allreduce", f"DDP, P = {P}"]
    for line in report["planned"]:
        P = line["P"]
        part = line["M"] if line["form"] == "AllGather" else line["M"] / P
        assert line["bytes"] == pytest.approx((P - 1) / P * part, rel=1e-12)
        assert line["messages"] == P - 1
        assert line["peers"] == (1 if line["form"] == "AllGather" else P - 1)
