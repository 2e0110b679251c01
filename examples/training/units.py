"""The GPT of model.py, unit by unit: parameters are fetched and gradients given back as a whole.

A *unit* is what data parallelism sends at once: "block0", "block1", ... and "ends", which holds all
that is used at both ends of the network. The embedding of tokens is there and is *tied*: it is the
head's matrix too, so its gradient has two parts, of which one comes first in the backward pass and
the other last. A unit is stored as one vector.
"""

from pydoc_data.topics import topics

import model
import numpy as np

TEXT = "".join(topics[name] for name in ("assignment", "for", "if", "while", "with"))
ALPHABET = sorted(set(TEXT))


def characters():
    """A text that comes with Python, as numbers, and the size of its alphabet."""
    numbers = {c: i for i, c in enumerate(ALPHABET)}
    return np.array([numbers[c] for c in TEXT]), len(ALPHABET)


def spelled(numbers):
    """The text that numbers stand for."""
    return "".join(ALPHABET[number] for number in numbers)


def batch(text, sequences, length, random):
    """Sequences from random places of the text: tokens and the next ones, (sequences, length)."""
    at = random.integers(0, len(text) - length, sequences)
    windows = text[at[:, None] + np.arange(length + 1)]
    return windows[:, :-1], windows[:, 1:]


def shapes(config):
    """The shapes of all parameters by unit, in the order in which gradients are finished."""
    found = {f"block{i}": {} for i in reversed(range(config.layers))} | {"ends": {}}
    for name, array in model.initial(config).items():
        unit, _, rest = name.partition(".")
        unit, rest = (unit, rest) if unit in found else ("ends", name)
        found[unit][rest] = array.shape
    return found


def length(shapes):
    """Numbers in a unit, from the shapes of its parameters."""
    return sum(int(np.prod(shape)) for shape in shapes.values())


def views(vector, shapes):
    """The parameters of a unit in the memory of its vector."""
    found, at = {}, 0
    for name, shape in shapes.items():
        size = int(np.prod(shape))
        found[name], at = vector[at : at + size].reshape(shape), at + size
    return found


def joined(gradients, shapes):
    """The vector of a unit from its gradients by name."""
    return np.concatenate([gradients[name].ravel() for name in shapes])


def initial(config, seed):
    """Random parameters: a vector for every unit."""
    parameters = model.initial(config, seed)
    parts = {unit: model.part(parameters, unit) or parameters for unit in shapes(config)}
    return {unit: joined(parts[unit], names) for unit, names in shapes(config).items()}


def loss_and_gradients(config, fetch, tokens, targets, scale, ready, tied=True):
    """`scale` times the sum of the losses; its gradients go to ``ready(unit, gradients)``.

    ``fetch(unit)`` gives the parameters of a unit by name, each time that they are needed. `ready`
    is called once for each unit, in the order of `shapes`, when nothing will be added to its
    gradients any more. ``tied=False`` forgets one of the embedding's two parts, a classic mistake.
    """
    ends, blocks = fetch("ends"), [unit for unit in shapes(config) if unit != "ends"]
    head_size = config.width // config.heads
    x, saved = model.embed(ends, tokens), {}
    for unit in reversed(blocks):
        x, saved[unit] = model.block(fetch(unit), x, head_size)
    loss, after = model.head(ends, x, targets, scale)
    dx, gradients = model.head_backward(ends, after)
    for unit in blocks:
        dx, finished = model.block_backward(fetch(unit), saved.pop(unit), dx)
        ready(unit, finished)
    first = model.embed_backward(ends, tokens, dx)
    if not tied:
        del first["embed.token"]
    model.add(gradients, first)
    ready("ends", gradients)
    return loss


def train_alone(config, flat, batches, optimizer):
    """The reference: one process trains on whole batches; losses, gradients of the last step.

    `flat` has a vector for every unit and is changed in place. The gradients come from model.py's
    own function for the whole, which knows no units.
    """
    losses, names = [], shapes(config)
    for tokens, targets in batches:
        parameters = {}
        for unit, vector in flat.items():
            arrays = views(vector, names[unit])
            parameters |= arrays if unit == "ends" else model.named(unit, arrays)
        loss, found = model.loss_and_gradients(config, parameters, tokens, targets)
        parts = {unit: model.part(found, unit) or found for unit in names}
        gradients = {unit: joined(parts[unit], names[unit]) for unit in names}
        losses.append(loss)
        optimizer.step(flat, gradients)
    return losses, gradients
