"""Pipeline schedules without MPI: order, messages, bubble, memory, and what goes wrong."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "training"))
import schedules
from schedules import Action

SHAPES = [(1, 1), (1, 4), (2, 1), (2, 2), (2, 5), (3, 2), (3, 7), (4, 4), (4, 8), (8, 3), (8, 16)]
both = pytest.mark.parametrize("name", schedules.SCHEDULES)
shapes = pytest.mark.parametrize(("stages", "microbatches"), SHAPES)


@both
@shapes
def test_every_microbatch_goes_forward_then_backward_once(name, stages, microbatches):
    for stage in range(stages):
        actions = list(schedules.SCHEDULES[name](stage, stages, microbatches))
        assert len(actions) == len(set(actions)) == 2 * microbatches
        for m in range(microbatches):
            assert actions.index(Action("F", m)) < actions.index(Action("B", m))


@both
@shapes
@pytest.mark.parametrize(("forward", "backward"), [(1, 1), (1, 2), (3, 1)])
def test_the_bubble_is_the_formula(name, stages, microbatches, forward, backward):
    schedule = schedules.SCHEDULES[name]
    spans = schedules.timeline(schedule, stages, microbatches, forward, backward)
    found = schedules.bubble(spans, stages)
    assert found == pytest.approx(schedules.bubble_formula(stages, microbatches), abs=1e-12)


@both
@shapes
def test_neighbours_agree_on_the_order_of_messages(name, stages, microbatches):
    """Messages between two ranks arrive in order: without tags, only equal orders are right."""
    steps = [
        list(schedules.with_messages(schedules.SCHEDULES[name](s, stages, microbatches), s, stages))
        for s in range(stages)
    ]
    for a in range(stages):
        for b in range(stages):
            sent = [s.action for s in steps[a] if s.verb == "send" and s.peer == b]
            posted = [s.action for s in steps[b] if s.verb == "post" and s.peer == a]
            waited = [s.action for s in steps[b] if s.verb == "wait" and s.peer == a]
            assert sent == posted == waited
            assert len(sent) == (microbatches if abs(a - b) == 1 else 0)


def test_memory():
    for stages, microbatches in SHAPES:
        for stage in range(stages):
            kept = {
                name: schedules.most_kept(schedule(stage, stages, microbatches))
                for name, schedule in schedules.SCHEDULES.items()
            }
            assert kept == {"gpipe": microbatches, "1f1b": min(stages - stage, microbatches)}


def test_blocking_calls_stop_1f1b_and_not_gpipe():
    schedules.timeline(schedules.gpipe, 4, 8, blocking=True)
    with pytest.raises(RuntimeError, match="stage 2: send F1, stage 3: send B0"):
        schedules.timeline(schedules.one_f_one_b, 4, 8, blocking=True)


def test_a_stage_that_alternates_too_early_stops_all():
    """A planted mistake: stage 0 of 3 waits for B0 before it has sent F1 and F2 ... of nobody."""

    def eager(stage, stages, microbatches):
        actions = list(schedules.one_f_one_b(stage, stages, microbatches))
        return [Action("B", 0), *[a for a in actions if a != ("B", 0)]] if stage == 0 else actions

    with pytest.raises(RuntimeError, match="stage 0: wait B0"):
        schedules.timeline(eager, 3, 4)


def test_text():
    spans = schedules.timeline(schedules.one_f_one_b, 2, 2, 1, 1)
    assert schedules.as_text(spans, 2, 6) == "stage 0 |01.a.b|\nstage 1 |.0a1b.|"
