"""Three exercises that are always there: a ring, a pairwise exchange and a tree."""

from __future__ import annotations

from mpicoll.grade.exercise import Collective, Exercise, Structure

__all__ = ["STANDARD"]

STANDARD: dict[str, Exercise] = {
    exercise.name: exercise
    for exercise in (
        Exercise(
            "ring_allreduce",
            "Allreduce on a ring, by a reduce-scatter and an allgather",
            Collective("allreduce", ("comm", "sendbuf", "recvbuf", "op")),
            structure=Structure(like=("allreduce", "ring")),
            speed=(8.0, 16.0),
        ),
        Exercise(
            "pairwise_alltoall",
            "All-to-all by exchanges between pairs of ranks",
            Collective("alltoall", ("comm", "sendbuf", "recvbuf")),
            structure=Structure(like=("alltoall", "pairwise"), any_peers=True),
            speed=(8.0, 16.0),
        ),
        Exercise(
            "binomial_bcast",
            "Broadcast on a binomial tree",
            Collective("bcast", ("comm", "buf", "root")),
            structure=Structure(like=("bcast", "binomial"), any_peers=True),
            speed=(8.0, 16.0),
        ),
    )
}
