"""Fully sharded data parallel (FSDP2): every rank keeps 1/P of parameters, gradients and optimizer.

Parameters are gathered before they are used, forward and backward; gradients are reduce-scattered.

mpirun -n 4 python examples/torch/fsdp.py
"""

import torch
import torch.distributed as dist
from common import against_formula, compare, groups, start
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard

import mpicoll.torch

STEPS, BATCH, WIDTH, LAYERS = 5, 24, 32, 3
rank, size = start()


def model():
    torch.manual_seed(1)
    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(LAYERS)]
    return nn.Sequential(*layers)


def batches():
    torch.manual_seed(2)
    for _ in range(STEPS):
        yield torch.randn(BATCH, WIDTH), torch.randn(BATCH, WIDTH)


def train(net, part, mean):
    """Losses of training on `part` of every batch."""
    optimizer, losses = torch.optim.Adam(net.parameters(), lr=0.01), []
    for x, y in batches():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x[part]), y[part])
        loss.backward()
        optimizer.step()
        losses.append(mean(loss.detach()))
    return losses


def sharded(group):
    net, mesh = model(), DeviceMesh.from_group(group, "cpu")
    for layer in net:
        fully_shard(layer, mesh=mesh, reshard_after_forward=True)
    fully_shard(net, mesh=mesh)
    return train(net, slice(rank * BATCH // size, (rank + 1) * BATCH // size), mean_over_ranks)


def mean_over_ranks(loss):
    loss = loss / size
    dist.all_reduce(loss, group=backends["gloo"])  # not part of what is counted
    return loss


assert BATCH % size == 0 and WIDTH % size == 0, f"{size} ranks do not divide {BATCH} and {WIDTH}"
backends = groups()
losses = {"one process": train(model(), slice(None), lambda loss: loss)}
for name, group in backends.items():
    with mpicoll.torch.accounting() as account:
        losses[name] = sharded(group)
    if name == "mpicoll":
        ours = account
compare(losses)

m = sum(parameter.nbytes for parameter in model().parameters())
gathers = 2 * STEPS * LAYERS
against_formula(
    ours,
    [
        (
            "all_gather_into_tensor",
            gathers,
            2 * STEPS * m,
            "2 (P-1)/P m for each step: forward and backward",
            2 * STEPS * (size - 1) * m // size,
        ),
        (
            "reduce_scatter_tensor",
            STEPS * LAYERS,
            STEPS * m,
            "(P-1)/P m for each step",
            STEPS * (size - 1) * m // size,
        ),
    ],
)
dist.destroy_process_group()
