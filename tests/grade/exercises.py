"""Exercises for tests: one that allows everything, and an allreduce by any means."""

import numpy as np

from mpicoll.grade.exercise import Collective, Custom, Exercise


def _inputs(case, size, random):
    return [random.random(4) for _ in range(size)]


def _call(function, comm, given):
    return function(comm, given)


def _judge(case, size, inputs, outputs):
    """Right is what no planted program gives: the sum over all ranks."""
    want = sum(inputs)
    return [
        (rank, f"rank {rank} has not the sum")
        for rank, got in enumerate(outputs)
        if not isinstance(got, np.ndarray) or got.shape != want.shape or not np.allclose(got, want)
    ]


exercises = {
    "anything": Exercise(
        "anything",
        "Anything",
        Custom(({},), _inputs, _call, _judge),
        sizes=(4,),
        collectives=("*",),
        rubric={"result": 100},
    ),
    "any_allreduce": Exercise(
        "any_allreduce",
        "Allreduce by any means",
        Collective("allreduce", ("comm", "sendbuf", "recvbuf", "op")),
        sizes=(4,),
        rubric={"result": 50, "repeat": 50},
        safe=False,
        aka=("ring_allreduce",),
    ),
}
