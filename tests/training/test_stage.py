"""Stages without MPI: every schedule gives one process's gradients, the usual mistakes do not."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "training"))
import model
import schedules
from stage import Stage, blocks_of, stage_parameters

TOLERANCE = 1e-12  # sums of a hundred numbers of order 1 in another order: some times 1e-16


def problem(layers=3, tied=True):
    config = model.Config(11, length=7, width=6, heads=3, layers=layers, hidden=10, tied=tied)
    tokens, targets = np.random.default_rng(5).integers(11, size=(2, 5, 7))
    return config, model.initial(config), tokens, targets


def pipeline(config, parameters, tokens, targets, schedule, stages, microbatches, make=Stage):
    """Run all stages in one process in the order of `timeline`; give the loss and the gradients."""
    mine = [stage_parameters(config, parameters, s, stages) for s in range(stages)]
    workers = [make(config, p, s, stages) for s, p in enumerate(mine)]
    for worker in workers:
        worker.begin(
            np.array_split(tokens, microbatches),
            np.array_split(targets, microbatches),
            1 / targets.size,
        )
    messages = {}
    for span in schedules.timeline(schedule, stages, microbatches):
        result = workers[span.stage].run(span.action, messages.pop((span.stage, span.action), None))
        target = schedules.target(span.action, span.stage, stages)
        if target is not None:
            messages[target, span.action] = result
    assert not messages
    return sum(w.loss for w in workers), [w.gradients for w in workers]


def joined(gradients):
    total = {}
    for g in gradients:
        model.add(total, g)  # sums the tied embedding's two
    return total


def worst(found, expected):
    assert found.keys() == expected.keys()
    return max(abs(found[n] - g).max() / abs(g).max() for n, g in expected.items())


@pytest.mark.parametrize("name", schedules.SCHEDULES)
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("stages", "microbatches"), [(1, 2), (2, 1), (2, 5), (3, 2), (4, 3)])
def test_equal_to_one_process(name, tied, stages, microbatches):
    """Unequal microbatches (5 sequences), unequal stages (3 blocks), a stage without a block."""
    config, parameters, tokens, targets = problem(tied=tied)
    schedule = schedules.SCHEDULES[name]
    loss, gradients = pipeline(config, parameters, tokens, targets, schedule, stages, microbatches)
    expected = model.loss_and_gradients(config, parameters, tokens, targets)
    assert loss == pytest.approx(expected[0], rel=1e-14)
    assert worst(joined(gradients), expected[1]) < TOLERANCE


def test_a_tied_embedding_needs_both_gradients():
    config, parameters, tokens, targets = problem()
    _, gradients = pipeline(config, parameters, tokens, targets, schedules.gpipe, 3, 2)
    expected = model.loss_and_gradients(config, parameters, tokens, targets)[1]["embed.token"]
    for one in (gradients[0], gradients[2]):
        assert abs(one["embed.token"] - expected).max() > 0.01 * abs(expected).max()


def test_means_over_unequal_microbatches_are_wrong():
    class Mean(Stage):
        def begin(self, tokens, targets, scale):
            super().begin(tokens, targets, scale)
            self.sizes = [t.size for t in targets]

        def forward(self, microbatch, x):
            self.scale = 1 / self.sizes[microbatch] / len(self.sizes)
            return super().forward(microbatch, x)

    config, parameters, tokens, targets = problem()
    arguments = config, parameters, tokens, targets, schedules.gpipe, 2
    expected = model.loss_and_gradients(config, parameters, tokens, targets)[1]
    _, equal = pipeline(*arguments, 5, make=Mean)
    _, unequal = pipeline(*arguments, 2, make=Mean)
    name = "block0.up.weight"
    assert abs(joined(equal)[name] - expected[name]).max() < TOLERANCE
    assert abs(joined(unequal)[name] - expected[name]).max() > 0.01 * abs(expected[name]).max()


def test_taking_the_latest_microbatch_is_right_in_gpipe_only():
    """GPipe goes back in the opposite order, a stack; under 1F1B it mixes microbatches."""

    class Stack(Stage):
        def backward(self, microbatch, dy):
            kept, latest = self.saved, max(self.saved)
            kept[microbatch], kept[latest] = kept[latest], kept[microbatch]
            return super().backward(microbatch, dy)

    config, parameters, tokens, targets = problem()
    tokens, targets = tokens[:4], targets[:4]  # equal microbatches, or it would be an error
    expected = model.loss_and_gradients(config, parameters, tokens, targets)[1]
    name = "block0.up.weight"
    errors = {}
    for schedule in ("gpipe", "1f1b"):
        _, gradients = pipeline(
            config, parameters, tokens, targets, schedules.SCHEDULES[schedule], 2, 4, make=Stack
        )
        errors[schedule] = abs(joined(gradients)[name] - expected[name]).max()
    assert errors["gpipe"] < TOLERANCE
    assert errors["1f1b"] > 0.01 * abs(expected[name]).max()


def test_blocks_of_stages():
    assert [list(blocks_of(5, s, 3)) for s in range(3)] == [[0, 1], [2, 3], [4]]
    assert [list(blocks_of(1, s, 2)) for s in range(2)] == [[0], []]
