"""A small GPT in NumPy whose backward pass is written by hand. It knows nothing of ranks.

Every function comes with its backward: ``y, saved = f(p, x)`` and ``dx, gradients = f_backward(p,
saved, dy)``. Parameters and gradients are dictionaries from names to arrays. What a parallel
program does differently is passed in: how to enter and leave a pair of linear layers
(`Boundary`), how to attend, what stands between attention and the next block.

Shapes: B sequences, T positions, D = width, H heads of K = D / H each, V characters, F hidden.
"""

from typing import NamedTuple

import numpy as np

EPSILON = 1e-5


class Config(NamedTuple):
    """The sizes of a model."""

    vocabulary: int = 64
    length: int = 16
    width: int = 32
    heads: int = 4
    layers: int = 2
    hidden: int = 128
    tied: bool = True  # the head uses the embedding's weights


def same(x):
    """Leave `x` as it is."""
    return x


class Boundary(NamedTuple):
    """What happens to activations before and after two linear layers split over ranks.

    One process does nothing. Tensor parallelism: each rank has some columns of the first layer and
    the matching rows of the second; `leave` sums the partial outputs (AllReduce), and
    `enter_backward` sums the partial gradients of the input. With sequence parallelism `enter` is
    AllGather, `leave` ReduceScatter, and backward each is the other.
    """

    enter: object = same
    leave: object = same
    enter_backward: object = same
    leave_backward: object = same


ALONE = Boundary()


def part(parameters, name):
    """Give the parameters whose names begin with `name` and a dot, under the rest of the name."""
    return {k[len(name) + 1 :]: v for k, v in parameters.items() if k.startswith(name + ".")}


def named(name, parameters):
    """Put `name` and a dot before every name."""
    return {f"{name}.{k}": v for k, v in parameters.items()}


# ------------------------------------------------------------------------------------- parameters


def initial(config, seed=0, dtype=np.float64):
    """Make the parameters of a whole model."""
    random = np.random.default_rng(seed)

    def weights(*shape, scale=None):
        return random.normal(0, scale or shape[0] ** -0.5, shape).astype(dtype)

    width, hidden = config.width, config.hidden
    parameters = {
        "embed.token": weights(config.vocabulary, width, scale=0.1),
        "embed.position": weights(config.length, width, scale=0.1),
    }
    for number in range(config.layers):
        block = {}
        for name in ("norm1", "norm2"):
            block |= {f"{name}.gain": np.ones(width, dtype), f"{name}.bias": np.zeros(width, dtype)}
        shapes = {name: (width, width) for name in ("query", "key", "value", "out")}
        for name, shape in {**shapes, "up": (width, hidden), "down": (hidden, width)}.items():
            block[f"{name}.weight"] = weights(*shape)
            # Keys have none: it would shift all scores of a query alike, which softmax ignores. Its
            # gradient is 0 up to rounding, and Adam would blow the rounding up.
            if name != "key":
                block[f"{name}.bias"] = np.zeros(shape[1], dtype)
        parameters |= named(f"block{number}", block)
    parameters |= {"final.gain": np.ones(width, dtype), "final.bias": np.zeros(width, dtype)}
    if not config.tied:
        parameters["head.weight"] = weights(config.vocabulary, width, scale=0.1)
    return parameters


# ----------------------------------------------------------------------------------------- layers


def linear(p, name, x):
    """Give x A + b, or x A of a layer that has no b."""
    return x @ p[f"{name}.weight"] + p.get(f"{name}.bias", 0)


def linear_backward(p, name, x, dy):
    """Give the gradients of the input and of the parameters."""
    rows, drows = x.reshape(-1, x.shape[-1]), dy.reshape(-1, dy.shape[-1])
    gradients = {f"{name}.weight": rows.T @ drows}
    if f"{name}.bias" in p:
        gradients[f"{name}.bias"] = drows.sum(0)
    return dy @ p[f"{name}.weight"].T, gradients


def norm(p, name, x):
    """Give every position mean 0 and variance 1, then scale and shift (LayerNorm)."""
    centred = x - x.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
    unit = centred * inverse
    return unit * p[f"{name}.gain"] + p[f"{name}.bias"], (unit, inverse)


def norm_backward(p, name, saved, dy):
    unit, inverse = saved
    dunit = dy * p[f"{name}.gain"]
    inner = (dunit * unit).mean(-1, keepdims=True)
    dx = (dunit - dunit.mean(-1, keepdims=True) - unit * inner) * inverse
    axes = tuple(range(dy.ndim - 1))
    return dx, {f"{name}.gain": (dy * unit).sum(axes), f"{name}.bias": dy.sum(axes)}


def softmax(x):
    exponentials = np.exp(x - x.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def attention(q, k, v, start=0):
    """Attend causally: q is (B, T, H, K), k and v (B, S, H, K); query i has position start + i."""
    q, k, v = (a.swapaxes(1, 2) for a in (q, k, v))
    scores = q @ k.swapaxes(2, 3) * q.shape[-1] ** -0.5
    later = np.arange(k.shape[2]) > start + np.arange(q.shape[2])[:, None]
    weights = softmax(np.where(later, -np.inf, scores))
    return (weights @ v).swapaxes(1, 2), (q, k, v, weights)


def attention_backward(saved, dy):
    """Give the gradients of q, k and v."""
    q, k, v, weights = saved
    dy = dy.swapaxes(1, 2)
    dweights = dy @ v.swapaxes(2, 3)
    dscores = weights * (dweights - (dweights * weights).sum(-1, keepdims=True))
    dscores *= q.shape[-1] ** -0.5
    gradients = dscores @ k, dscores.swapaxes(2, 3) @ q, weights.swapaxes(2, 3) @ dy
    return tuple(a.swapaxes(1, 2) for a in gradients)


ATTEND = (attention, attention_backward)


def silu(x):
    sigmoid = 1 / (1 + np.exp(-x))
    return x * sigmoid, (x, sigmoid)


def silu_backward(saved, dy):
    x, sigmoid = saved
    return dy * sigmoid * (1 + x * (1 - sigmoid))


def mlp(p, x, boundary=ALONE):
    """Two linear layers with SiLU between; `up` may have some columns, `down` their rows."""
    x = boundary.enter(x)
    middle, active = silu(linear(p, "up", x))
    # The bias is added after the sum over ranks: added before, it would count once for each rank.
    return boundary.leave(middle @ p["down.weight"]) + p["down.bias"], (x, middle, active)


def mlp_backward(p, saved, dy, boundary=ALONE):
    x, middle, active = saved
    bias = dy.sum(tuple(range(dy.ndim - 1)))
    dmiddle, down = linear_backward(p, "down", middle, boundary.leave_backward(dy))
    dx, up = linear_backward(p, "up", x, silu_backward(active, dmiddle))
    return boundary.enter_backward(dx), {**up, **down, "down.bias": bias}


MLP = (mlp, mlp_backward)


def attend_all(p, x, head_size, boundary=ALONE, attend=ATTEND):
    """Multi-head attention; query, key and value may have the columns of some heads only."""
    x = boundary.enter(x)
    q, k, v = (linear(p, n, x) for n in ("query", "key", "value"))
    shape = (*q.shape[:2], q.shape[2] // head_size, head_size)  # no -1: the batch may be empty
    heads, saved = attend[0](*(a.reshape(shape) for a in (q, k, v)))
    joined = heads.reshape(q.shape)
    return boundary.leave(joined @ p["out.weight"]) + p["out.bias"], (x, saved, joined, shape)


def attend_all_backward(p, saved, dy, boundary=ALONE, attend=ATTEND):
    x, inner, joined, shape = saved
    bias = dy.sum(tuple(range(dy.ndim - 1)))
    dheads, gradients = linear_backward(p, "out", joined, boundary.leave_backward(dy))
    gradients["out.bias"] = bias
    dx = 0
    dqkv = attend[1](inner, dheads.reshape(shape))
    for name, d in zip(("query", "key", "value"), dqkv, strict=True):
        more, g = linear_backward(p, name, x, d.reshape(dheads.shape))
        dx = dx + more
        gradients |= g
    return boundary.enter_backward(dx), gradients


# ------------------------------------------------------------------------------- the whole network


def block(p, x, head_size, boundary=ALONE, attend=ATTEND, feed=MLP):
    """One transformer block: attention, then `feed`, each on normed input and added to x."""
    normed, norm1 = norm(p, "norm1", x)
    y, attended = attend_all(p, normed, head_size, boundary, attend)
    x = x + y
    normed, norm2 = norm(p, "norm2", x)
    y, fed = feed[0](p, normed, boundary)
    return x + y, (norm1, attended, norm2, fed)


def block_backward(p, saved, dy, boundary=ALONE, attend=ATTEND, feed=MLP):
    norm1, attended, norm2, fed = saved
    d, gradients = feed[1](p, fed, dy, boundary)
    d, g = norm_backward(p, "norm2", norm2, d)
    gradients |= g
    dy = dy + d
    d, g = attend_all_backward(p, attended, dy, boundary, attend)
    gradients |= g
    d, g = norm_backward(p, "norm1", norm1, d)
    return dy + d, gradients | g


def embed(p, tokens, start=0):
    """Give the vectors of `tokens` (B, T), the first of which stand at position `start`."""
    return p["embed.token"][tokens] + p["embed.position"][start : start + tokens.shape[1]]


def embed_backward(p, tokens, dx, start=0):
    gradients = {name: np.zeros_like(p[name]) for name in ("embed.token", "embed.position")}
    np.add.at(gradients["embed.token"], tokens, dx)  # a token may occur many times
    gradients["embed.position"][start : start + tokens.shape[1]] = dx.sum(0)
    return gradients


def head(p, x, targets, scale):
    """Give `scale` times the sum of all positions' cross entropies.

    The scale is 1 / (number of positions in the whole batch), so that what ranks or microbatches
    compute is summed, never averaged: averages of unequal parts would be wrong.
    """
    normed, saved = norm(p, "final", x)
    weight = p["head.weight" if "head.weight" in p else "embed.token"]
    probabilities = softmax(normed @ weight.T)
    right = np.take_along_axis(probabilities, targets[..., None], -1)
    return -scale * np.log(right).sum(), (normed, saved, probabilities, targets, scale)


def head_backward(p, saved):
    normed, inner, probabilities, targets, scale = saved
    name = "head.weight" if "head.weight" in p else "embed.token"
    dlogits = probabilities * scale
    np.put_along_axis(
        dlogits,
        targets[..., None],
        np.take_along_axis(dlogits, targets[..., None], -1) - scale,
        -1,
    )
    rows = normed.reshape(-1, normed.shape[-1])
    weight = dlogits.reshape(-1, dlogits.shape[-1]).T @ rows
    dx, gradients = norm_backward(p, "final", inner, dlogits @ p[name])
    return dx, {**gradients, name: weight}


def add(total, gradients):
    """Add `gradients` into the dictionary `total`; a name may come from two places (tied)."""
    for name, gradient in gradients.items():
        total[name] = total[name] + gradient if name in total else gradient


def loss_and_gradients(config, p, tokens, targets, scale=None, start=0, **how):
    """Do the whole in one process: the reference of every program here.

    A rank that has a part of every sequence names its first position, `start`; `how` goes to every
    block (boundary, attend, feed).
    """
    scale = 1 / targets.size if scale is None else scale
    head_size = config.width // config.heads
    x = embed(p, tokens, start)
    saved = []
    for number in range(config.layers):
        x, s = block(part(p, f"block{number}"), x, head_size, **how)
        saved.append(s)
    loss, s = head(p, x, targets, scale)
    dx, gradients = head_backward(p, s)
    for number in reversed(range(config.layers)):
        name = f"block{number}"
        dx, g = block_backward(part(p, name), saved[number], dx, **how)
        add(gradients, named(name, g))
    add(gradients, embed_backward(p, tokens, dx, start))
    return loss, gradients


class Adam:
    """Adam, changing parameters in place; it is element-wise, so shards may have one of their own.

    `names` fixes which parameters; the sums are kept under the same names.
    """

    def __init__(self, parameters, rate=1e-2, betas=(0.9, 0.99), epsilon=1e-8):
        self.rate, self.betas, self.epsilon = rate, betas, epsilon
        self.steps = 0
        self.mean = {name: np.zeros_like(p) for name, p in parameters.items()}
        self.square = {name: np.zeros_like(p) for name, p in parameters.items()}

    def step(self, parameters, gradients):
        """Change `parameters` in place by one step."""
        self.steps += 1
        first, second = self.betas
        for name, p in parameters.items():
            g, mean, square = gradients[name], self.mean[name], self.square[name]
            mean += (1 - first) * (g - mean)
            square += (1 - second) * (g**2 - square)
            root = np.sqrt(square / (1 - second**self.steps))
            p -= self.rate / (1 - first**self.steps) * mean / (root + self.epsilon)
