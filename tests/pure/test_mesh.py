"""Groups of a mesh: every rank in exactly one, of the stated size, and Megatron's numbering."""

from itertools import combinations, permutations
from math import prod
from pathlib import Path

import pytest

from mpicoll.mesh import DIMENSIONS, ORDER, Layout, MeshError

SIZES = [
    {},
    {"tensor": 8},
    {"tensor": 2, "data": 4},
    {"tensor": 2, "context": 3, "expert": 1, "data": 2, "pipeline": 5},
    {"expert": 3, "pipeline": 2, "data": 2},
]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_groups_divide_the_ranks(sizes):
    mesh = Layout(prod(sizes.values()), sizes)
    for number in range(len(DIMENSIONS) + 1):
        for names in combinations(DIMENSIONS, number):
            groups = mesh.groups(*names)
            assert sorted(rank for group in groups for rank in group) == list(range(mesh.P))
            for group in groups:
                assert len(group) == mesh.size(*names)
                assert list(group) == sorted(group)
                for rank in group:
                    assert mesh.group(rank, *names) == group
                places = [mesh.coordinates(rank) for rank in group]
                for name in set(DIMENSIONS) - set(names):
                    assert len({place[name] for place in places}) == 1


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_ranks_and_coordinates_are_inverse(sizes):
    mesh = Layout(prod(sizes.values()), sizes)
    for rank in range(mesh.P):
        assert mesh.rank(**mesh.coordinates(rank)) == rank


def test_the_numbering_is_megatrons():
    # The example in Megatron's own description: 16 ranks, tensor 2, pipeline 4, data 2.
    mesh = Layout(16, {"tensor": 2, "pipeline": 4, "data": -1})
    assert mesh.groups("tensor") == [(r, r + 1) for r in range(0, 16, 2)]
    assert mesh.groups("pipeline") == [(r, r + 4, r + 8, r + 12) for r in range(4)]
    assert mesh.groups("data") == [(r, r + 2) for r in (0, 1, 4, 5, 8, 9, 12, 13)]
    assert mesh.group(9, "tensor", "pipeline") == (0, 1, 4, 5, 8, 9, 12, 13)


def test_another_order_moves_the_strides():
    for order in permutations(("tensor", "data", "pipeline")):
        mesh = Layout(24, {"tensor": 2, "data": 3, "pipeline": 4}, "-".join(order))
        strides = {name: mesh.group(0, name)[1] for name in order}
        assert strides[order[0]] == 1
        assert strides[order[1]] == mesh.size(order[0])
        assert strides[order[2]] == mesh.size(*order[:2])


def test_a_dimension_of_ones_own():
    mesh = Layout(6, {"replica": 2, "shard": 3}, "shard-replica")
    assert mesh.groups("shard") == [(0, 1, 2), (3, 4, 5)]
    assert "a dimension of this program" in mesh.describe()


@pytest.mark.parametrize(
    ("P", "sizes", "words"),
    [
        (8, {"tensor": 3}, "tensor 3 = 3, but there are 8 ranks"),
        (8, {"tensor": 2, "data": 2}, "(tensor=4 or data=4 would fit)"),
        (8, {"tensor": 4, "data": 4}, "(tensor=2 or data=2 would fit)"),
        (8, {"tensor": 3, "data": -1}, "does not divide 8 ranks: no data fits"),
        (8, {"tensor": -1, "data": -1}, "only one size may be -1, not tensor and data"),
        (8, {"tensro": 8}, "no dimension 'tensro'"),
        (8, {"tensor": 0, "data": 8}, "tensor=0: a size is a positive integer"),
        (8, {"tensor": 2.0, "data": 4}, "tensor=2.0: a size is a positive integer"),
    ],
    ids=str,
)
def test_sizes_that_do_not_fit_are_said_in_one_sentence(P, sizes, words):
    with pytest.raises(MeshError) as caught:
        Layout(P, sizes)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_wrong_questions_are_refused():
    mesh = Layout(4, {"tensor": 4})
    for ask in (
        lambda: mesh.groups("tensro"),
        lambda: mesh.rank(tensor=4),
        lambda: mesh.rank(tensro=0),
        lambda: mesh.coordinates(4),
        lambda: Layout(4, {}, "tensor-tensor"),
    ):
        with pytest.raises(MeshError):
            ask()


def test_the_description_says_who_and_why():
    text = Layout(8, {"tensor": 2, "expert": 2, "data": -1}).describe(node=4)
    assert text.splitlines()[0] == "8 ranks: tensor 2 x expert 2 x data 2 (tensor varies fastest)"
    assert "tensor: parts of every weight matrix" in text
    assert "{0 1}  {2 3}  {4 5}  {6 7}" in text
    assert "expert x data: the same dense parameters" in text
    assert [line.split(":")[0] for line in text.splitlines() if "between nodes" in line] == [
        "data",
        "expert x data",
    ]
    assert "rank 5 is at tensor 1, context 0, expert 0, data 1, pipeline 0" in Layout(
        8, {"tensor": 2, "expert": 2, "data": -1}
    ).describe(5)
    shown = Layout(8, {"tensor": 2, "data": -1, "pipeline": 2}).describe()
    for name in ("training.md", "training.zh.md"):
        assert shown in (Path(__file__).parents[2] / "docs" / name).read_text()
    assert "no parallelism" in Layout(1, {}).describe()
    assert set(ORDER.split("-")) == set(DIMENSIONS)
