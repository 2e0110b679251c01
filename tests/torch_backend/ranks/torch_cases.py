"""Collectives of torch on tensors of every type and shape, with what must come out.

A case makes this rank's arguments from `make(number, rank)`, a tensor distinct for both, and says
what the call must leave, from the tensors of all ranks.
"""

import operator
from functools import reduce

import torch
import torch.distributed as dist

REDUCTIONS = {
    "SUM": operator.add,
    "AVG": None,
    "PRODUCT": operator.mul,
    "MIN": torch.minimum,
    "MAX": torch.maximum,
    "BAND": torch.bitwise_and,
    "BOR": torch.bitwise_or,
    "BXOR": torch.bitwise_xor,
    "PREMUL_SUM": None,
}
FACTOR = 2.0
# The older names are deprecated where there are newer ones.
all_gather_single = getattr(dist, "all_gather_single", dist.all_gather_into_tensor)
reduce_scatter_single = getattr(dist, "reduce_scatter_single", dist.reduce_scatter_tensor)


def op_of(name):
    if name == "PREMUL_SUM":
        return dist._make_nccl_premul_sum(FACTOR)
    return getattr(dist.ReduceOp, name)


def combined(name, tensors):
    """What a reduction must give; halves are combined as wider numbers, truth values logically."""
    dtype = tensors[0].dtype
    wide = {torch.float16: torch.float32, torch.bfloat16: torch.float32}.get(dtype, dtype)
    tensors = [tensor.to(wide) for tensor in tensors]
    if dtype is torch.bool:
        name = {"SUM": "BOR", "MAX": "BOR", "PRODUCT": "BAND", "MIN": "BAND"}.get(name, name)
    if name == "AVG":
        result = reduce(operator.add, tensors)
        if wide.is_complex:  # torch divides complex numbers less exactly
            result = torch.view_as_complex(torch.view_as_real(result) / len(tensors))
        else:
            result = result / len(tensors)
    elif name == "PREMUL_SUM":
        result = reduce(operator.add, [tensor * FACTOR for tensor in tensors])
    elif (wide.is_complex and name == "SUM") or dtype not in UNSIGNED:
        result = reduce(REDUCTIONS[name], tensors)
    else:  # torch itself does not compute with them
        result = reduce(REDUCTIONS[name], [tensor.long() for tensor in tensors])
    return result.to(dtype)


UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)


def like(tensor):
    """A tensor of the same layout, full of other values."""
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype).fill_(1)


class Case:
    """One call: `run(group, async_op)`, then `left()` must equal `expected()`."""

    rooted = False
    gloo = True  # has it, for tensors of these shapes

    def __init__(self, make, ranks, me, root):
        self.make, self.ranks, self.me, self.root = make, ranks, me, root
        self.size = len(ranks)
        self.mine = make(0, me)
        self.every = [make(0, rank) for rank in range(self.size)]

    def call(self, function, *arguments, group, async_op, **more):
        work = function(*arguments, group=group, async_op=async_op, **more)
        if async_op:
            work.wait()
            assert work.is_completed()


class AllReduce(Case):
    op = "SUM"

    def run(self, **how):
        self.out = self.mine
        self.call(dist.all_reduce, self.out, op_of(self.op), **how)

    def left(self):
        return [self.out]

    def expected(self):
        return [combined(self.op, self.every)]


class Reduce(AllReduce):
    rooted = True

    def run(self, **how):
        self.out = self.mine
        self.call(dist.reduce, self.out, self.ranks[self.root], op_of(self.op), **how)

    def left(self):
        return [self.out] if self.me == self.root else []

    def expected(self):
        return super().expected() if self.me == self.root else []


class Broadcast(Case):
    rooted = True

    def run(self, **how):
        self.out = self.mine
        self.call(dist.broadcast, self.out, self.ranks[self.root], **how)

    def left(self):
        return [self.out]

    def expected(self):
        return [self.every[self.root]]


class AllGather(Case):
    def run(self, **how):
        self.out = [like(tensor) for tensor in self.every]
        self.call(dist.all_gather, self.out, self.mine, **how)

    def left(self):
        return [*self.out, self.mine]

    def expected(self):
        return [*self.every, self.every[self.me]]


class AllGatherSingle(Case):
    gloo = False

    def run(self, **how):
        shape = (self.size, *self.mine.shape)
        self.out = torch.ones(shape, dtype=self.mine.dtype)
        self.call(all_gather_single, self.out, self.mine.contiguous(), **how)

    def left(self):
        return [self.out]

    def expected(self):
        return [torch.stack(self.every)]


class Gather(AllGather):
    rooted = True

    def run(self, **how):
        root = self.me == self.root
        self.out = [like(tensor) for tensor in self.every] if root else None
        self.call(dist.gather, self.mine, self.out, self.ranks[self.root], **how)

    def left(self):
        return [self.mine, *(self.out or [])]

    def expected(self):
        return [self.every[self.me], *(self.every if self.me == self.root else [])]


class Scatter(Case):
    rooted = True

    def run(self, **how):
        given = [self.make(number, self.root) for number in range(self.size)]
        self.out = like(self.mine)
        given = given if self.me == self.root else None
        self.call(dist.scatter, self.out, given, self.ranks[self.root], **how)

    def left(self):
        return [self.out]

    def expected(self):
        return [self.make(self.me, self.root)]


class ReduceScatter(Case):
    op = "SUM"

    def run(self, **how):
        given = [self.make(number, self.me) for number in range(self.size)]
        self.out = like(self.mine)
        self.call(dist.reduce_scatter, self.out, given, op_of(self.op), **how)

    def left(self):
        return [self.out]

    def expected(self):
        return [combined(self.op, [self.make(self.me, rank) for rank in range(self.size)])]


class ReduceScatterSingle(ReduceScatter):
    gloo = False

    def run(self, **how):
        given = torch.stack([self.make(number, self.me) for number in range(self.size)])
        self.out = torch.ones(self.mine.shape, dtype=self.mine.dtype)
        self.call(reduce_scatter_single, self.out, given, op_of(self.op), **how)


class AllToAll(Case):
    def run(self, **how):
        given = [self.make(number, self.me) for number in range(self.size)]
        self.out = [like(tensor) for tensor in self.every]
        self.call(dist.all_to_all, self.out, given, **how)

    def left(self):
        return self.out

    def expected(self):
        return [self.make(self.me, rank) for rank in range(self.size)]


class AllToAllSingle(AllToAll):
    def run(self, **how):
        given = torch.stack([self.make(number, self.me) for number in range(self.size)])
        whole = torch.ones_like(given)
        self.call(dist.all_to_all_single, whole, given, **how)
        self.out = list(whole)


MOVING = [Broadcast, AllGather, AllGatherSingle, Gather, Scatter, AllToAll, AllToAllSingle]
REDUCING = [AllReduce, Reduce, ReduceScatter, ReduceScatterSingle]
