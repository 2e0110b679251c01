"""Mixture of experts: every rank has an expert; tokens travel to theirs and back by all-to-all.

mpirun -n 4 python examples/torch/moe.py
"""

import torch
import torch.distributed as dist
from common import against_formula, compare, groups, start
from torch import nn

import mpicoll.torch

STEPS, TOKENS, WIDTH, SCALAR = 5, 24, 16, 8
rank, size = start()


class Exchange(torch.autograd.Function):
    """Rows to the ranks and from the ranks; the gradients go the opposite way."""

    @staticmethod
    def forward(ctx, rows, gives, gets, group):
        ctx.way = gives, gets, group
        out = rows.new_empty(sum(gets), *rows.shape[1:])
        dist.all_to_all_single(out, rows.contiguous(), gets, gives, group=group)
        return out

    @staticmethod
    def backward(ctx, gradient):
        gives, gets, group = ctx.way
        return Exchange.apply(gradient, gets, gives, group), None, None, None


class Experts(nn.Module):
    """A router and an expert for each rank: all of them, or with a `group` this rank's own."""

    def __init__(self, group=None):
        super().__init__()
        torch.manual_seed(1)
        self.router, self.group = nn.Linear(WIDTH, size), group
        self.experts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(size))
        self.away = []  # rows that left this rank, for the account

    def forward(self, x):
        gate, chosen = self.router(x).softmax(-1).max(-1)
        order = chosen.argsort(stable=True)
        gives = torch.bincount(chosen, minlength=size)
        if self.group is None:
            parts = x[order].split(gives.tolist())
            out = torch.cat(
                [expert(part) for expert, part in zip(self.experts, parts, strict=True)]
            )
        else:
            gets = torch.empty_like(gives)
            dist.all_to_all_single(gets, gives, group=self.group)
            gives, gets = gives.tolist(), gets.tolist()
            tokens = Exchange.apply(x[order], gives, gets, self.group)
            out = Exchange.apply(self.experts[rank](tokens), gets, gives, self.group)
            self.away.append(
                (sum(gives) - gives[rank], sum(gets) - gets[rank], sum(gives), sum(gets))
            )
        back = torch.empty_like(order)
        back[order] = torch.arange(len(order))
        return x + gate[:, None] * out[back]


def batches():
    torch.manual_seed(2)
    for _ in range(STEPS):
        yield torch.randn(size * TOKENS, WIDTH), torch.randn(size * TOKENS, WIDTH)


def train(net, part, total):
    """Losses; `total` sums over the ranks, here and in the router's gradient."""
    losses = []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in batches():
        optimizer.zero_grad()
        x = x.requires_grad_()  # as if a layer came before
        loss = ((net(x[part]) - y[part]) ** 2).sum() / y.numel()
        loss.backward()
        for parameter in net.router.parameters():
            total(parameter.grad)
        optimizer.step()
        losses.append(total(loss.detach()))
    return losses


def sum_over_ranks(tensor):
    dist.all_reduce(tensor, group=backends["gloo"])  # not part of what is counted
    return tensor


backends = groups()
losses = {"one process": train(Experts(), slice(None), lambda tensor: tensor)}
for name, group in backends.items():
    net = Experts(group)
    with mpicoll.torch.accounting() as account:
        own = slice(rank * TOKENS, (rank + 1) * TOKENS)
        losses[name] = train(net, own, sum_over_ranks)
    if name == "mpicoll":
        ours, away = account, net.away
compare(losses)

row = WIDTH * SCALAR
# Forward a row goes out and, at the expert, comes back; backward its gradient does the same.
sent = sum(2 * row * (out + back) for out, back, _, _ in away) + STEPS * (size - 1) * SCALAR
given = sum(2 * row * (out + back) for _, _, out, back in away) + STEPS * size * SCALAR
against_formula(
    ours,
    [
        (
            "all_to_all_single",
            5 * STEPS,
            given,
            "the rows of other experts, twice forward and twice backward, and P-1 counts",
            sent,
        )
    ],
)
dist.destroy_process_group()
