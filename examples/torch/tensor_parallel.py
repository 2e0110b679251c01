"""Tensor parallel: the first linear layer of a block split by columns, the second by rows.

Forward, the partial outputs of the rows are summed; backward, the gradients of the columns' input.

mpirun -n 4 python examples/torch/tensor_parallel.py
"""

import torch
import torch.distributed as dist
from common import against_formula, compare, groups, start
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

import mpicoll.torch

STEPS, BATCH, WIDTH, HIDDEN, BLOCKS = 5, 24, 16, 32, 3
rank, size = start()


class Block(nn.Module):
    """Two linear layers and what goes past them."""

    def __init__(self):
        super().__init__()
        self.columns, self.rows = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        return x + self.rows(torch.tanh(self.columns(x)))


def model():
    torch.manual_seed(1)
    return nn.Sequential(*(Block() for _ in range(BLOCKS)))


def train(net):
    torch.manual_seed(2)
    optimizer, losses = torch.optim.SGD(net.parameters(), lr=0.1), []
    for _ in range(STEPS):
        x, y = torch.randn(BATCH, WIDTH), torch.randn(BATCH, WIDTH)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def parallel(group):
    net, mesh = model(), DeviceMesh.from_group(group, "cpu")
    plan = {"columns": ColwiseParallel(), "rows": RowwiseParallel()}
    for block in net:
        parallelize_module(block, mesh, plan)
    with mpicoll.torch.accounting() as account:
        losses = train(net)
    return losses, account


assert HIDDEN % size == 0, f"{size} ranks do not divide {HIDDEN} columns"
losses = {"one process": train(model())}
for name, group in groups().items():
    losses[name], account = parallel(group)
    if name == "mpicoll":
        ours = account
compare(losses)

m = BATCH * WIDTH * 8  # bytes of the activations of a block
calls = STEPS * (BLOCKS + BLOCKS - 1)  # the first block's input has no gradient
against_formula(
    ours,
    [
        (
            "all_reduce",
            calls,
            calls * m,
            "2 (P-1)/P m for each block forward and, but the first, backward",
            calls * 2 * (size - 1) * m // size,
        )
    ],
)
dist.destroy_process_group()
