"""Pipeline parallel: every rank has one stage; activations go forward, gradients backward.

mpirun -n 4 python examples/torch/pipeline.py
"""

from contextlib import ExitStack

import torch
import torch.distributed as dist
from common import against_formula, compare, groups, say, start
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe

import mpicoll.torch

STEPS, BATCH, PARTS, WIDTH = 4, 24, 6, 16
rank, size = start()


def stages():
    torch.manual_seed(1)
    return [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(size)]


def batches():
    torch.manual_seed(2)
    for _ in range(STEPS):
        yield torch.randn(BATCH, WIDTH), torch.randn(BATCH, WIDTH)


def alone():
    net, losses = nn.Sequential(*stages()), []
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in batches():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def piped(schedule, group):
    net = stages()[rank]
    optimizer, results = torch.optim.SGD(net.parameters(), lr=0.1), []
    # What passes between stages is told beforehand; gradients go back where it requires them.
    comes, goes = (
        torch.empty(BATCH // PARTS, WIDTH, requires_grad=back) for back in (rank > 0, True)
    )
    stage = PipelineStage(
        net, rank, size, torch.device("cpu"), input_args=comes, output_args=goes, group=group
    )
    steps = schedule(stage, PARTS, loss_fn=nn.functional.mse_loss)
    with ExitStack() as stack:
        for number, (x, y) in enumerate(batches()):
            if number == 1:  # in the first step neighbours also send each other a greeting
                account = stack.enter_context(mpicoll.torch.accounting())
            optimizer.zero_grad()
            losses = []
            steps.step(*([x] if rank == 0 else []), target=y, losses=losses)
            optimizer.step()
            mean = torch.stack(losses).mean().detach() if rank == size - 1 else torch.zeros(())
            dist.broadcast(mean, size - 1, group=watching)
            results.append(mean)
    return results, account


assert size > 1, "a pipeline needs two ranks at least"
backends = groups()
watching = backends["gloo"]  # the loss for all ranks is not part of what is counted
for schedule in (ScheduleGPipe, Schedule1F1B):
    say(f"\n{schedule.__name__}")
    losses = {"one process": alone()}
    for name, group in backends.items():
        losses[name], account = piped(schedule, group)
        if name == "mpicoll":
            ours = account
    compare(losses)
    m = BATCH // PARTS * WIDTH * 8
    neighbours = (rank > 0) + (rank < size - 1)
    calls = (STEPS - 1) * PARTS * neighbours
    against_formula(
        ours,
        [
            (
                "send",
                calls,
                calls * m,
                "m for each part and neighbour, m = a part's activations",
                calls * m,
            ),
            ("recv", calls, calls * m, "", 0),
        ],
    )
dist.destroy_process_group()
