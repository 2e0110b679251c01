"""Bugs planted into algorithms: the proof must find each one and call it by its name."""

from dataclasses import replace
from pathlib import Path

import pytest

from mpicoll.analysis.findings import KINDS
from mpicoll.analysis.symbolic import prove
from mpicoll.registry import find
from mpicoll.steps import Copy, Input, Nothing, Output, Recv, Reduce, Send, Temp, wrap

ring = find("allreduce", "ring")
doubling = find("allreduce", "recursive_doubling")
allgather = find("allgather", "ring")
gather = find("gather", "linear")
scatter = find("scatter", "binomial")
exscan = find("exscan", "recursive_doubling")
barrier = find("barrier", "dissemination")


def rounds_of(algorithm, rank, size, root=0):
    """A plan as lists of steps, to be spoiled."""
    return [list(steps) for steps in algorithm.plan(rank, size, root)]


def steps_changed(change):
    """Pass every step through `change(rank, size, round, step)`; None drops it."""

    def spoil(rank, size, rounds):
        for number, steps in enumerate(rounds):
            changed = [change(rank, size, number, step) for step in steps]
            yield tuple(step for step in changed if step is not None)

    return spoil


def swapped_peers(rank, size, number, step):
    return step._replace(peer=2 * rank - step.peer) if isinstance(step, Send) else step


def other_way_round(rank, size, number, step):
    if isinstance(step, (Send, Recv)):
        return step._replace(peer=(2 * rank - step.peer) % size)
    return step


def dropped(verb, at):
    def drop(rank, size, number, step):
        return None if (rank, number) == (1, at) and isinstance(step, verb) else step

    return steps_changed(drop)


def wrong_chunk(rank, size, number, step):
    if isinstance(step, Send) and (rank, number) == (1, 1):
        return step._replace(chunk=Input[(step.chunk.blocks[0] - 1) % size])
    return step


def wrong_length(rank, size, number, step):
    if isinstance(step, Send) and number == 2 * size - 3:
        return step._replace(chunk=Output[wrap(step.chunk.blocks[0], 2, size)])
    return step


def wrong_start_of_phase_2(rank, size, rounds):
    yield from map(tuple, rounds[: size - 1])
    for step in range(size - 1):
        yield (
            Send((rank + 1) % size, Output[(rank + 1 - step) % size]),
            Recv((rank - 1) % size, Output[(rank - step) % size]),
        )


def one_step_less(rank, size, rounds):
    yield from map(tuple, rounds[:-1])


def one_step_more(rank, size, rounds):
    yield from map(tuple, [*rounds, rounds[-1]])


def swapped_operands(rank, size, number, step):
    return Reduce(step.right, step.left, step.into) if isinstance(step, Reduce) else step


def send_before_receive(rank, size, rounds):
    for steps in rounds:
        for verb in (Send, Recv, (Copy, Reduce)):
            yield tuple(step for step in steps if isinstance(step, verb))


def receive_over_what_is_sent(rank, size, number, step):
    return step._replace(chunk=Output[rank]) if isinstance(step, Recv) and number == 1 else step


def received_twice(rank, size, rounds):
    yield tuple(
        Recv(step.peer, Output[(rank + 1) % size]) if isinstance(step, Recv) else step
        for step in rounds[0]
    )


def reduced_twice(rank, size, rounds):
    for steps in rounds:
        yield tuple(steps)
        yield tuple(
            Reduce(Temp[step.into.blocks], step.into, step.into)
            for step in steps
            if isinstance(step, Reduce)
        )


def into_input(rank, size, number, step):
    if isinstance(step, Reduce):
        return step._replace(into=Input[step.into.blocks])
    return step


def at_every_rank(rank, size, rounds):
    yield from map(tuple, rounds)
    if rank:
        yield Copy(Input[rank], Output[rank])


def without_modulus(rank, size, number, step):
    return Send(rank + 1, step.chunk) if isinstance(step, Send) else step


def to_itself(rank, size, number, step):
    return step._replace(peer=rank) if isinstance(step, (Send, Recv)) else step


def one_block_too_far(rank, size, number, step):
    if isinstance(step, Recv):
        return step._replace(chunk=step.chunk.buffer[step.chunk.blocks[0] + 1])
    return step


def result_first(rank, size, rounds):
    """Right where Input and Output are two memories; in place, Input is gone when it is needed."""
    peer = 1 - rank
    left, right = (Input[:], Temp[:]) if rank == 0 else (Temp[:], Input[:])
    yield Send(peer, Input[:]), Recv(peer, Output[:])
    yield Copy(Output[:], Temp[:]), Reduce(left, right, Output[:])


def neighbours_block(rank, size, number, step):
    if isinstance(step, Reduce):
        return step._replace(left=Input[(step.left.blocks[0] + 1) % size])
    return step


def two_into_one(rank, size, rounds):
    yield Copy(Input[0:2], Temp[0:1])
    yield from map(tuple, rounds)


def shifted_in_memory(rank, size, rounds):
    yield from map(tuple, rounds)
    yield Copy(Output[0 : size - 1], Output[1:size])


def without_own_block(rank, size, rounds):
    yield (*[step for step in rounds[0] if not isinstance(step, Copy)],)


def with_own(rank, size, rounds):
    yield from map(tuple, rounds)
    if rank:
        yield Reduce(Output[:], Input[:], into=Output[:])


def only_one_way(rank, size, rounds):
    yield Send(rank + 1, Nothing) if rank == 0 else Recv(rank - 1, Nothing)
    if 0 < rank < size - 1:
        yield Send(rank + 1, Nothing)


def raises(rank, size, rounds):
    yield tuple(rounds[0])
    yield Send((rank + 1) % size, Output[[0, 1, 2][rank]])


def unchanged(rank, size, rounds):
    yield from map(tuple, rounds)


CASES = {
    "peers swapped": (ring, 4, steps_changed(swapped_peers), "no such peer"),
    "ring the other way round": (ring, 4, steps_changed(other_way_round), "mis-sized message"),
    "a Send dropped": (ring, 4, dropped(Send, 1), "unmatched receive"),
    "a Recv dropped": (ring, 4, dropped(Recv, 1), "unmatched send"),
    "a Reduce dropped": (ring, 4, dropped(Reduce, 1), "missing contribution"),
    "wrong chunk": (ring, 4, steps_changed(wrong_chunk), "mis-sized message"),
    "wrong length": (ring, 4, steps_changed(wrong_length), "mis-sized message"),
    "phase 2 starts with the wrong chunk": (ring, 4, wrong_start_of_phase_2, "undefined read"),
    "P - 2 steps in phase 2": (ring, 4, one_step_less, "no result"),
    "a step too many": (ring, 4, one_step_more, "false declaration"),
    "operands swapped": (doubling, 4, steps_changed(swapped_operands), "wrong order"),
    "send, then receive": (ring, 4, send_before_receive, "deadlock"),
    "received over what is sent": (
        allgather,
        4,
        steps_changed(receive_over_what_is_sent),
        "hazard",
    ),
    "two receives into one block": (gather, 4, received_twice, "hazard"),
    "combined twice": (doubling, 4, reduced_twice, "double contribution"),
    "combined into Input": (ring, 4, steps_changed(into_input), "input modified"),
    "written where there is no result": (gather, 4, at_every_rank, "output touched"),
    "ring without modulus": (allgather, 4, steps_changed(without_modulus), "no such peer"),
    "sent to itself": (allgather, 4, steps_changed(to_itself), "self message"),
    "a block too far": (gather, 4, steps_changed(one_block_too_far), "no such block"),
    "neighbour's block combined": (ring, 4, steps_changed(neighbours_block), "mis-sized step"),
    "lengths of a copy differ": (ring, 4, two_into_one, "mis-sized step"),
    "own block forgotten": (gather, 4, without_own_block, "no result"),
    "own contribution in exscan": (exscan, 4, with_own, "foreign contribution"),
    "word in one direction only": (barrier, 4, only_one_way, "not heard"),
    "an index error": (allgather, 4, raises, "generator raised"),
}


def mutant(algorithm, spoil, **declaration):
    def generate(rank, size, root=0):
        return spoil(rank, size, rounds_of(algorithm, rank, size, root))

    return replace(algorithm, generate=generate, **declaration)


@pytest.mark.parametrize(("algorithm", "size", "spoil", "kind"), CASES.values(), ids=CASES)
def test_a_planted_bug_is_named(algorithm, size, spoil, kind):
    proof = prove(mutant(algorithm, spoil), size)
    assert proof.kinds[0] == kind, proof.explain(9)


@pytest.mark.parametrize("algorithm", {case[0] for case in CASES.values()}, ids=str)
def test_the_harness_itself_spoils_nothing(algorithm):
    assert prove(mutant(algorithm, unchanged), 4).ok


@pytest.mark.parametrize(
    "false", [{"rounds": "P"}, {"volume": "m"}, {"reduced": "m"}, {"rounds": "no_such_symbol"}]
)
def test_a_false_formula_is_named(false):
    proof = prove(mutant(ring, unchanged, **false), 4)
    assert proof.kinds == ["false declaration"]


def test_a_false_order_is_named():
    assert prove(mutant(ring, unchanged, order="rank"), 4).kinds == ["wrong order"]


def test_in_place_aliasing_is_named():
    spoiled = mutant(
        doubling, result_first, rounds="1", volume="m", reduced="m", order="rank", blocks="1"
    )
    assert prove(spoiled, 2).ok
    assert prove(spoiled, 2, in_place=True).kinds[0] == "aliasing"


def test_a_replaced_input_is_named():
    def late(rank, size, rounds):
        peer = 1 - rank
        yield Send(peer, Input[:]), Recv(peer, Temp[:]), Copy(Temp[:], Output[:])
        yield Reduce(*((Input[:], Temp[:]) if rank == 0 else (Temp[:], Input[:])), Output[:])

    spoiled = mutant(doubling, late, rounds="1", volume="m", reduced="m")
    assert prove(spoiled, 2).ok
    proof = prove(spoiled, 2, in_place=True)
    assert proof.kinds[0] == "aliasing"
    assert "replaced" in proof.findings[0].message


def test_blocks_of_unequal_size_are_named():
    assert prove(replace(scatter, requires=()), 4).kinds == ["unknown size"]


def test_blocks_shifted_in_memory_are_named():
    spoiled = mutant(allgather, shifted_in_memory, requires=("equal_blocks",))
    assert prove(spoiled, 4).kinds == ["hazard", "wrong piece"]


def test_different_pieces_are_named():
    def mixed(rank, size, rounds):
        yield from map(tuple, rounds)
        yield Copy(Input[1], Temp[0]), Reduce(Output[0], Temp[0], into=Output[0])

    assert "different pieces" in prove(mutant(ring, mixed, requires=("equal_blocks",)), 4).kinds


def test_a_deadlock_names_who_waits_for_whom():
    finding = prove(mutant(ring, send_before_receive), 4).findings[0]
    assert finding.message.startswith("rank 0 waits for rank 1 (round 1, Send(1, Input[3]))")
    assert finding.message.count("waits for") == 4


def test_a_finding_shows_the_grid_with_the_place():
    finding = prove(mutant(ring, wrong_start_of_phase_2), 4).findings[0]
    rank, following = finding.rank, (finding.rank + 1) % 4
    assert (finding.round, finding.step) == (4, f"Send({following}, Output[{following}])")
    marked = [line for line in finding.grid.splitlines() if line.endswith("<-- here")]
    assert len(marked) == 1
    assert marked[0].startswith(f"rank {rank}")
    assert "[.]" in marked[0]


def test_every_kind_of_fault_is_planted_somewhere():
    planted = {case[3] for case in CASES.values()}
    elsewhere = {"aliasing", "unknown size", "wrong piece", "different pieces"}
    assert planted | elsewhere == set(KINDS)


def test_the_documents_list_what_is_planted():
    lines = [
        f"| {bug} | {algorithm}, P = {size} | {kind} |"
        for bug, (algorithm, size, _, kind) in CASES.items()
    ]
    text = (Path(__file__).parents[2] / "docs" / "proofs.md").read_text()
    assert "\n".join(lines) in text
