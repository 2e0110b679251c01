"""Layers and blocks divided over ranks: equal to one process, whatever the shapes."""

import linear_layers
import pytest


def failed(report):
    return {check["what"] for check in report["checks"] if not check["passed"]}


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--samples", 3, "--inside", 5, "--outputs", 2, "--width", 4),  # some ranks have nothing
        ("--samples", 16, "--inside", 24, "--outputs", 8),
    ],
    ids=["uneven", "empty", "even"],
)
def test_linear_layers(execute, words):
    report = execute("linear_layers", *words, "--steps", 4)
    assert report["losses"][-1] < report["losses"][0]


@pytest.mark.usefixtures("few")
def test_layers_without_their_sums_are_found(execute, monkeypatch):
    """Every form needs its sum, forward or backward: plant layers that forget it."""
    monkeypatch.setattr(linear_layers, "all_reduce", lambda group, x: x)
    monkeypatch.setattr(linear_layers, "reduce_scatter", linear_layers.mine)
    report = execute("linear_layers", "--steps", 2, passes=False)
    for form in linear_layers.FORMS:
        assert f"{form}: gradients" in failed(report)


@pytest.mark.parametrize("program", ("tensor_parallel", "sequence_parallel"))
@pytest.mark.parametrize(
    "words", [(), ("--heads", 8, "--hidden", 32, "--length", 16)], ids=["uneven", "even"]
)
def test_a_block(execute, program, words):
    report = execute(program, "--steps", 3, *words)
    assert report["losses"][-1] < report["losses"][0]


def test_ranks_without_a_position(execute):
    execute("sequence_parallel", "--steps", 2, "--length", 2, "--batch", 1)


def test_ranks_without_a_head_are_refused(execute, size, rank, capsys):
    with pytest.raises(SystemExit) as ended:
        execute("tensor_parallel", "--heads", size - 1)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert ("a rank would have none" in said) == (rank == 0)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    ("program", "mistake"),
    [
        ("tensor_parallel", "forward"),
        ("tensor_parallel", "backward"),
        ("sequence_parallel", "layernorm"),
    ],
)
def test_a_classic_mistake_is_found(execute, program, mistake):
    report = execute(program, "--steps", 2, "--mistake", mistake, passes=False)
    assert {"gradients", "parameters"} <= failed(report)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("program", ("linear_layers", "tensor_parallel", "sequence_parallel"))
def test_native_collectives_give_the_same(execute, program):
    ours = execute(program, "--steps", 2)
    native = execute(program, "--steps", 2, "--native")
    assert native["losses"] == pytest.approx(ours["losses"], rel=1e-12)
    for mine, theirs in zip(ours["traffic"], native["traffic"], strict=True):
        assert mine["calls"] == theirs["calls"]


def test_sequence_parallel_sends_what_tensor_parallel_sends(execute):
    def bytes_of(program, *primitives):
        traffic = execute(program, "--steps", 2)["traffic"]
        return sum(line["bytes"] for line in traffic if line["primitive"] in primitives)

    tensor = bytes_of("tensor_parallel", "Allreduce")
    assert bytes_of("sequence_parallel", "Allgatherv", "Reduce_scatter") == tensor
