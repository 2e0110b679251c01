"""ZeRO: equal to one process in every stage, with the memory and the volume that are promised."""

import pytest
import zero


@pytest.mark.parametrize(
    "words", [("--width", 32), ("--width", 28, "--layers", 1, "--batch", 3)], ids=["even", "uneven"]
)
def test_every_stage(execute, size, words):
    report = execute("zero", "--steps", 2, *words)
    memory = [report["memory"][stage]["held"] for stage in zero.STAGES]
    assert memory == sorted(memory, reverse=True)
    assert memory[3] < memory[0] * 1.1 / size
    sent = {stage: 0 for stage in zero.STAGES}
    for line in report["traffic"]:
        if line["group"].startswith("stage"):
            sent[int(line["group"][-1])] += line["bytes"]
    assert sent[0] == pytest.approx(sent[1], rel=1e-15)
    assert sent[1] == sent[2]
    assert sent[3] <= 1.5 * sent[2]


@pytest.mark.usefixtures("few")
def test_native_collectives_give_the_same(execute):
    ours = execute("zero", "--steps", 2, "--width", 16)
    native = execute("zero", "--steps", 2, "--width", 16, "--native")
    assert native["losses"] == pytest.approx(ours["losses"], rel=1e-12)


@pytest.mark.usefixtures("few")
def test_gradients_that_are_kept_whole_are_found(execute, monkeypatch):
    """A stage 2 that forgets to drop what it has scattered holds too much."""

    class Keeping(zero.Zero):
        def ready(self, unit, gradients):
            super().ready(unit, gradients)
            self.kept = [*getattr(self, "kept", ()), *(g.copy() for g in gradients.values())]

    monkeypatch.setattr(zero, "Zero", Keeping)
    report = execute("zero", "--steps", 2, "--width", 16, passes=False)
    wrong = [check["what"] for check in report["checks"] if not check["passed"]]
    assert wrong == [f"stage {stage}: memory held" for stage in zero.STAGES]


@pytest.mark.usefixtures("few")
def test_parameters_that_are_not_gathered_are_found(execute, monkeypatch):
    def forgetful(self):
        gathered, self.gathered = self.gathered, lambda unit: self.whole[unit]
        step(self)
        self.gathered = gathered

    step = zero.Zero.step
    monkeypatch.setattr(zero.Zero, "step", forgetful)
    report = execute("zero", "--steps", 3, "--width", 16, passes=False)
    wrong = {check["what"] for check in report["checks"] if not check["passed"]}
    assert {"stage 1: losses", "stage 2: losses"} <= wrong
    assert not [what for what in wrong if what.startswith(("stage 0", "stage 3"))]
