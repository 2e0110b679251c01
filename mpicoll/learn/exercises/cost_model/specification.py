"""Slow and obvious: a clock for each rank, and every message moves two of them."""

from mpicoll.learn import trial


def cost_model(size, nbytes, alpha, beta, segments):
    """Return the seconds of the five algorithms."""
    if size == 1:
        return [0.0] * 5

    def together(pairs, length, clock):
        """One round: all these (sender, receiver) pairs at the same time."""
        before = list(clock)
        for sender, receiver in pairs:
            arrival = max(before[sender], before[receiver]) + alpha + beta * length
            clock[sender] = max(clock[sender], arrival)
            clock[receiver] = max(clock[receiver], arrival)

    linear = [0.0] * size
    for rank in range(1, size):
        together([(0, rank)], nbytes, linear)

    binomial, holders = [0.0] * size, 1
    while holders < size:
        pairs = [(r, r + holders) for r in range(holders) if r + holders < size]
        together(pairs, nbytes, binomial)
        holders *= 2

    arrival = [0.0] * segments  # of each segment at the rank before; the root has all at time 0
    for _ in range(1, size):
        free = 0.0
        for segment in range(segments):
            free = max(free, arrival[segment]) + alpha + beta * nbytes / segments
            arrival[segment] = free

    ring = [0.0] * size
    for _ in range(2 * (size - 1)):
        together([(r, (r + 1) % size) for r in range(size)], nbytes / size, ring)

    doubling, core = [0.0] * size, 1
    while 2 * core <= size:
        core *= 2
    spare = size - core
    together([(core + r, r) for r in range(spare)], nbytes, doubling)
    distance = 1
    while distance < core:
        together([(r, r ^ distance) for r in range(core)], nbytes, doubling)
        distance *= 2
    together([(r, core + r) for r in range(spare)], nbytes, doubling)

    return [max(linear), max(binomial), arrival[-1], max(ring), max(doubling)]


def inputs(size, n, random, ranks=6):
    """Number of ranks, bytes, alpha, beta, and segments: the same kind of numbers for each rank."""
    result = []
    for _ in range(size):
        nbytes, segments = int(random.integers(1, 10**6)), int(random.integers(1, 20))
        alpha, beta = float(random.uniform(1e-6, 1e-4)), float(random.uniform(1e-10, 1e-8))
        result.append((ranks, nbytes, alpha, beta, segments))
    return result


def compare(function, n=3):
    """Run a function and this specification on the same inputs of length n, and compare."""
    return trial.compare(function, cost_model, inputs, n)


if __name__ == "__main__":
    trial.show(cost_model, inputs)
