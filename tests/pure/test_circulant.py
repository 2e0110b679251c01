"""The schedule of the circulant broadcast: what arrives is new, and who sends it has it."""

import pytest

from mpicoll.analysis.symbolic import prove
from mpicoll.circulant import circulant_base, circulant_receives, circulant_skips
from mpicoll.registry import find
from mpicoll.steps import Recv

#: All sizes up to 100, then those around powers of two and three quarters of them.
SIZES = [*range(2, 101), *(p + d for p in (128, 192, 256, 384, 512) for d in (-1, 0, 1)), 1000]


@pytest.mark.parametrize("size", SIZES)
def test_schedule(size):
    skips = circulant_skips(size)
    rounds = len(skips)
    base = [circulant_base(rank, skips) for rank in range(size)]
    receives = [circulant_receives(rank, size) for rank in range(size)]
    for rank in range(1, size):
        # One new block, and of those of the phase before all but the one that it has.
        wanted = {*range(-rounds, 0), base[rank]} - {base[rank] - rounds}
        assert set(receives[rank]) == wanted
        assert len(receives[rank]) == rounds
        for k, block in enumerate(receives[rank]):
            source = (rank - skips[k]) % size
            if source == 0:
                assert block == k
            else:
                assert block in {base[source] - rounds, *receives[source][:k]}


@pytest.mark.parametrize("size", [65, 97, 129, 300])
@pytest.mark.parametrize("collective", ["bcast", "reduce", "allgather", "reduce_scatter"])
def test_proof_of_many_ranks(collective, size):
    proof = prove(find(collective, "circulant"), size)
    assert proof.ok, proof.explain()


def test_a_rank_of_many_receives_every_block_once():
    plan = find("bcast", "circulant").plan(9999, 16384)
    received = [step.chunk.blocks for steps in plan for step in steps if isinstance(step, Recv)]
    assert sorted(received) == [(block,) for block in range(8)]
