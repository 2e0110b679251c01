"""Predicted times in the model: a message of k bytes takes alpha + beta k seconds.

在“一条 k 字节的消息要 alpha + beta k 秒”的模型中预测时间。
"""

ALPHA, BETA = 2e-6, 1e-10  # seconds for a message, seconds for a byte: put in your own
NAMES = ["linear", "binomial", "pipelined", "ring", "doubling"]


def cost_model(size, nbytes, alpha, beta, segments):
    """Return the seconds of the five algorithms, in the order of NAMES."""
    raise NotImplementedError("your code here")


def plot(size):
    """Draw the curves into cost_model.png, or print who wins if matplotlib is missing."""
    lengths = [2**power for power in range(3, 28, 2)]
    seconds = [cost_model(size, nbytes, ALPHA, BETA, 16) for nbytes in lengths]
    for nbytes, row in zip(lengths, seconds, strict=True):
        bcast = NAMES[row.index(min(row[:3]))]
        allreduce = NAMES[row.index(min(row[3:]), 3)]
        print(f"{nbytes:>10} bytes   bcast: {bcast:10}  allreduce: {allreduce}")
    try:
        import matplotlib
    except ImportError:
        return
    matplotlib.use("agg")
    from matplotlib import pyplot

    for name, curve in zip(NAMES, zip(*seconds, strict=True), strict=True):
        pyplot.loglog(lengths, curve, label=name)
    pyplot.xlabel("bytes")
    pyplot.ylabel("seconds")
    pyplot.legend()
    pyplot.savefig("cost_model.png")
    print("drawn: cost_model.png")


if __name__ == "__main__":
    from mpi4py import MPI
    from specification import compare

    if compare(cost_model) and MPI.COMM_WORLD.Get_rank() == 0:
        plot(16)
