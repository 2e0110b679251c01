"""Micro-batches flow through one layer on each rank.

微批次流过各进程上的层。
"""


def pipeline(comm, weight, inputs, outputs):
    """Fill the last rank's `outputs` with rank 0's `inputs` after all layers."""
    raise NotImplementedError("your code here")


if __name__ == "__main__":
    from specification import compare

    compare(pipeline)
