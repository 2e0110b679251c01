"""Every collective x dtype x shape x group x waiting, against expected values and against gloo."""

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")

import torch
import torch.distributed as dist
from torch_cases import MOVING, REDUCING

pytestmark = pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]
INTEGERS += [torch.uint16, torch.uint32, torch.uint64]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
COMPLEX = [torch.complex64, torch.complex128]
MOVED = [torch.complex32, torch.float8_e4m3fn, torch.float8_e5m2]
SHAPES = {
    "scalar": lambda t: t(()),
    "vector": lambda t: t((13,)),
    "matrix": lambda t: t((3, 5)),
    "empty": lambda t: t((0, 4)),
    "transposed": lambda t: t((4, 3)).t(),
    "strided": lambda t: t((5, 6))[:, ::2],
    "channels last": lambda t: t((2, 3, 2, 2)).to(memory_format=torch.channels_last),
    "long": lambda t: t((40000,)),
}
#: Shapes that are tried with all types and operations, and the types for the others.
EVERYTHING = ("vector", "transposed")
SOME = (torch.float32, torch.bfloat16, torch.complex64, torch.bool)
OPS = {
    "floats": ["SUM", "AVG", "PRODUCT", "MIN", "MAX", "PREMUL_SUM"],
    "integers": ["SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"],
    "bool": ["SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR"],
    "complex": ["SUM", "AVG"],
}
KINDS = {torch.bool: "bool"} | dict.fromkeys(INTEGERS, "integers") | dict.fromkeys(FLOATS, "floats")
KINDS |= dict.fromkeys(COMPLEX, "complex")


def maker(shape, dtype):
    """`make(number, rank)`: a tensor of small numbers, exact in every type."""

    def make(number, rank):
        def fill(dims):
            count = torch.Size(dims).numel()
            values = (torch.arange(count) * (rank + 2) + 3 * number + rank) % 4 + (count < 100)
            if dtype is torch.bool:
                return (values % 3 == 0).reshape(dims)
            if dtype.is_complex:
                parts = torch.stack([values, values.flip(0) + 1], -1).float()
                return torch.view_as_complex(parts).to(dtype).reshape(dims)
            return values.to(dtype).reshape(dims)

        return SHAPES[shape](fill)

    return make


def same(left, expected):
    assert len(left) == len(expected)
    for got, want in zip(left, expected, strict=True):
        assert got.shape == want.shape and got.dtype == want.dtype
        # Bytes: torch does not compare all types. -0.0 cannot occur.
        got, want = (t.contiguous().view(-1).view(torch.uint8) for t in (got, want))
        assert torch.equal(got, want), f"{got} instead of {want}"


def check(case, groups, shape, dtype, op=None):
    for pair in filter(None, groups):
        ours, gloo = pair
        ranks = dist.get_process_group_ranks(ours)
        for root in {0, len(ranks) - 1} if case.rooted else {0}:
            for async_op in (False, True):
                one = case(maker(shape, dtype), ranks, dist.get_rank(ours), root)
                one.op = op
                one.run(group=ours, async_op=async_op)
                same(one.left(), one.expected())
        other = case(maker(shape, dtype), ranks, dist.get_rank(ours), root)
        other.op = op
        if op in ("AVG", "PREMUL_SUM") or dtype not in GLOO or shape not in ("vector", "matrix"):
            continue
        if not case.gloo:
            continue
        other.run(group=gloo, async_op=False)
        same(other.left(), one.left())


#: What gloo has for all of these collectives.
GLOO = (torch.float32, torch.float64, torch.int32, torch.int64, torch.uint8, torch.int8)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("case", MOVING, ids=lambda case: case.__name__)
def test_moving(groups, case, shape):
    for dtype in (*INTEGERS, *FLOATS, *COMPLEX, *MOVED, torch.bool):
        if shape in EVERYTHING or dtype in SOME:
            check(case, groups, shape, dtype)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("case", REDUCING, ids=lambda case: case.__name__)
def test_reducing(groups, case, shape):
    for dtype, kind in KINDS.items():
        for op in OPS[kind]:
            if shape in EVERYTHING or (dtype in SOME and op in ("SUM", "AVG")):
                check(case, groups, shape, dtype, op)
