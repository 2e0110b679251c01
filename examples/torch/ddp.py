"""Data parallel: every rank has the whole model and a part of the batch; gradients are averaged.

mpirun -n 4 python examples/torch/ddp.py
"""

import torch
import torch.distributed as dist
from common import against_formula, compare, groups, start
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import mpicoll.torch

STEPS, BATCH = 5, 24
rank, size = start()


def model():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 8)
    )


def batches():
    torch.manual_seed(2)
    for _ in range(STEPS):
        yield torch.randn(BATCH, 16), torch.randn(BATCH, 8)


def alone():
    """One process with the whole batch."""
    net, losses = model(), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in batches():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def parallel(group):
    """The ranks of `group`, each with its part."""
    torch.manual_seed(100 + rank)  # DDP starts from the parameters of rank 0
    net = model() if rank == 0 else model().apply(lambda layer: None)
    net = DistributedDataParallel(net, process_group=group)
    optimizer, losses = torch.optim.SGD(net.parameters(), lr=0.1), []
    for x, y in batches():
        optimizer.zero_grad()
        own = slice(rank * BATCH // size, (rank + 1) * BATCH // size)
        loss = nn.functional.mse_loss(net(x[own]), y[own])
        loss.backward()
        optimizer.step()
        mean = loss.detach() / size
        dist.all_reduce(mean, group=watching)
        losses.append(mean)
    return losses


assert BATCH % size == 0, f"{size} ranks do not divide the batch of {BATCH}"
backends = groups()
watching = backends["gloo"]  # the mean loss is not part of what is counted
losses = {"one process": alone()}
for name, group in backends.items():
    with mpicoll.torch.accounting() as account:
        losses[name] = parallel(group)
    if name == "mpicoll":
        ours = account
compare(losses)

parameters = list(model().parameters())
m = sum(parameter.nbytes for parameter in parameters)
rows = [
    # What is summed is all of the gradient, whatever the buckets.
    (
        "all_reduce",
        ours["all_reduce"].calls,
        STEPS * m,
        "2 (P-1)/P m for each step, m = bytes of the parameters",
        STEPS * 2 * (size - 1) * m // size,
    ),
]
setup = {name: ours.pop(name) for name in list(ours) if name != "all_reduce"}
against_formula(ours, rows)
if rank == 0:
    print("before the first step:", ", ".join(f"{sums.calls} {n}" for n, sums in setup.items()))
dist.destroy_process_group()
