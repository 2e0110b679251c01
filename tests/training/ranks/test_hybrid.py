"""Hybrids of several kinds of parallelism follow one process."""

import pytest

#: Ranks: options of meshes, uneven ones among them.
MESHES = {
    1: ["--tensor 1 --pipeline 1 --expert 1"],
    2: ["--tensor 2 --pipeline 1 --expert 2", "--tensor 1 --pipeline 2 --expert 1"],
    3: ["--tensor 1 --pipeline 3 --expert 3", "--tensor 3 --pipeline 1 --expert 1 --batch 7"],
    4: ["--tensor 2 --pipeline 2 --expert 2 --experts 3 --batch 9 --microbatches 3"],
    5: ["--tensor 1 --pipeline 1 --expert 5"],
    8: ["--steps 2", "--tensor 2 --pipeline 4 --expert 2 --layers 5 --batch 6 --steps 1"],
}


def test_it_follows_one_process(execute, size):
    for mesh in MESHES[size]:
        report = execute("hybrid", "--steps", 2, "--microbatches", 2, *mesh.split())
        for name, losses in report["losses"].items():
            assert losses == pytest.approx(report["single"][name], rel=1e-12)


@pytest.mark.usefixtures("few")
def test_native_collectives_give_the_same_and_are_timed_in_turns(execute, size):
    words = ["--steps", 2, *MESHES[size][0].split(), "--layers", max(2, size // 2)]
    ours = execute("hybrid", *words, "--timed", 1)
    native = execute("hybrid", *words, "--native")
    for name, losses in ours["losses"].items():
        assert native["losses"][name] == pytest.approx(losses, rel=1e-12)
        assert set(ours["seconds"][name]) == {"mpicoll", "native"}


def test_sizes_that_do_not_fit_are_an_error_of_usage(execute, size):
    with pytest.raises(SystemExit) as end:
        execute("hybrid", "--tensor", size + 1)
    assert end.value.code == 2
