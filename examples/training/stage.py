"""One stage of a pipeline: which layers it has, its passes, and its messages.

`Stage` computes and knows nothing of messages; `perform` runs the steps of `schedules` on a
communicator of all stages, non-blocking, and keeps the times for a Gantt chart.
"""

import time

import numpy as np
from model import (
    ALONE,
    ATTEND,
    MLP,
    add,
    block,
    block_backward,
    embed,
    embed_backward,
    head,
    head_backward,
    named,
    part,
)
from schedules import Span


def stage_of(name, layers, stages):
    """Give the stages that have the parameter `name`: the tied embedding may be on two."""
    if name.startswith("block"):
        number = int(name.split(".")[0].removeprefix("block"))
        return {stage for stage in range(stages) if number in blocks_of(layers, stage, stages)}
    return {0} if name.startswith("embed") else {stages - 1}


def blocks_of(layers, stage, stages):
    """Give the numbers of a stage's blocks; the first stages have one more where they must."""
    whole, rest = divmod(layers, stages)
    begin = stage * whole + min(stage, rest)
    return range(begin, begin + whole + (stage < rest))


def stage_parameters(config, parameters, stage, stages):
    """Copy the parameters of one stage out of the whole model's."""
    names = {n for n in parameters if stage in stage_of(n, config.layers, stages)}
    if config.tied and stage == stages - 1:
        names.add("embed.token")  # the head multiplies by the embedding: a second copy of it
    return {n: p.copy() for n, p in parameters.items() if n in names}


class Stage:
    """The layers of one stage, the microbatches between their passes, and the gradients' sums."""

    def __init__(self, config, parameters, stage, stages, boundary=ALONE, attend=ATTEND, feed=MLP):
        self.config, self.parameters = config, parameters
        self.first, self.last = stage == 0, stage == stages - 1
        self.numbers = blocks_of(config.layers, stage, stages)
        self.how = {"boundary": boundary, "attend": attend, "feed": feed}

    def begin(self, tokens, targets, scale):
        """Start a step with a list of microbatches; `scale` is 1 / (positions in the batch).

        Microbatches may be unequal: with the batch's scale, losses and gradients are just summed.
        """
        self.tokens, self.targets, self.scale = tokens, targets, scale
        self.saved, self.gradients, self.loss = {}, {}, 0.0

    def shape(self, microbatch):
        """Give the shape of what comes in: activations forward, their gradient backward."""
        return (*self.tokens[microbatch].shape, self.config.width)

    def run(self, action, received):
        """Do one action; give what the neighbour needs (None at the ends)."""
        return (self.forward if action.kind == "F" else self.backward)(action.microbatch, received)

    def forward(self, microbatch, x):
        """Go through the blocks, and remember what the way back needs."""
        if self.first:
            x = embed(self.parameters, self.tokens[microbatch])
        saved = []
        for number in self.numbers:
            p = part(self.parameters, f"block{number}")
            x, s = block(p, x, self.config.width // self.config.heads, **self.how)
            saved.append(s)
        if self.last:
            loss, s = head(self.parameters, x, self.targets[microbatch], self.scale)
            saved.append(s)
            self.loss += loss
        # By number: which microbatch goes backward next depends on the schedule.
        self.saved[microbatch] = saved
        return None if self.last else x

    def backward(self, microbatch, dy):
        """Go back through the blocks, and add to the gradients."""
        saved = self.saved.pop(microbatch)
        if self.last:
            dy, gradients = head_backward(self.parameters, saved.pop())
            add(self.gradients, gradients)
        for number in reversed(self.numbers):
            name = f"block{number}"
            dy, gradients = block_backward(part(self.parameters, name), saved.pop(), dy, **self.how)
            add(self.gradients, named(name, gradients))
        if not self.first:
            return dy
        add(self.gradients, embed_backward(self.parameters, self.tokens[microbatch], dy))
        return None


def perform(group, steps, stage, pad=0.0, dtype=np.float64):
    """Do one stage's `steps` on the communicator of all stages; give the spans of its actions.

    Every message has its microbatch in its tag. With `pad` (seconds) every forward pass takes at
    least that long and every backward pass twice as long: the rest is slept, as a stage waits for
    an accelerator. Buffers live until their requests are complete.
    """
    here, spans = group.Get_rank(), []
    receives, received, sends, results = {}, {}, [], {}
    for verb, action, peer in steps:
        tag = 2 * action.microbatch + (action.kind == "B")
        if verb == "post":
            buffer = np.empty(stage.shape(action.microbatch), dtype)
            receives[action] = group.Irecv(buffer, peer, tag), buffer
        elif verb == "wait":
            request, received[action] = receives.pop(action)
            wait(request)
        elif verb == "compute":
            begin = time.perf_counter()
            results[action] = stage.run(action, received.pop(action, None))
            if pad:
                due = begin + pad * (1 if action.kind == "F" else 2)
                time.sleep(max(0, due - time.perf_counter()))
            spans.append(Span(here, action, begin, time.perf_counter()))
        else:
            buffer = np.ascontiguousarray(results.pop(action))
            sends.append((group.Isend(buffer, peer, tag), buffer))
    for request, _ in sends:
        wait(request)
    return spans


def wait(request):
    """Wait asleep: there may be more ranks than cores, and MPI's own wait would keep one busy."""
    while not request.Test():
        time.sleep(1e-4)
