"""The examples run, and the ring written by hand sends exactly the messages of the plan."""

import importlib.util
import runpy
from pathlib import Path

import numpy as np
import pytest
from mpi4py import MPI

from mpicoll.registry import find
from mpicoll.steps import Recv, Send

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("[0-9]*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(path, rank, capsys):
    runpy.run_path(str(path), run_name="__main__")
    printed = capsys.readouterr().out
    assert bool(printed) == (rank == 0)  # one rank speaks for all


def test_each_example_says_how_to_run_it():
    for path in EXAMPLES:
        assert f"mpirun -n 4 python examples/{path.name}" in path.read_text()
    numbers = [path.name[:2] for path in EXAMPLES]
    assert numbers == [f"{n:02}" for n in range(1, len(numbers) + 1)]


class Recording(MPI.Intracomm):
    """Notes every message: sent or received, peer, bytes and content of what was sent."""

    def __new__(cls, comm):
        self = super().__new__(cls, comm)
        self.messages = []
        return self

    def note(self, verb, peer, spec):
        memory = memoryview(spec[0] if isinstance(spec, list) else spec).cast("B")
        content = bytes(memory) if verb == "send" else None
        self.messages.append((verb, peer, len(memory), content))

    def Sendrecv(self, sendbuf, dest, sendtag, recvbuf, source, recvtag):
        self.note("send", dest, sendbuf)
        self.note("receive", source, recvbuf)
        return super().Sendrecv(sendbuf, dest, sendtag, recvbuf, source, recvtag)

    def Send(self, *arguments):
        raise AssertionError("a ring sends and receives in the same step")

    Recv = Isend = Irecv = Send


@pytest.mark.parametrize("length", (0, 1, 7, 64, 1003))
def test_the_hand_written_ring_sends_the_messages_of_the_plan(comm, ours, rank, size, length):
    path = next(path for path in EXAMPLES if "ring" in path.stem)
    spec = importlib.util.spec_from_file_location("ring_by_hand", path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)

    # Sums of such numbers show the order of the additions in their last bits.
    mine = np.random.default_rng(rank).standard_normal(length)
    by_hand, by_plan = np.zeros(length), np.zeros(length)
    hand = Recording(comm)
    example.ring_allreduce(hand, mine, by_hand)

    # What the plan says: peers, and bytes by the blocks of a vector cut into P.
    nbytes = [8 * len(block) for block in np.array_split(mine, size)]
    said = [
        ("send" if isinstance(step, Send) else "receive", step.peer, nbytes[step.chunk.blocks[0]])
        for steps in find("allreduce", "ring").plan(rank, size)
        for step in steps
        if isinstance(step, (Send, Recv))
    ]
    assert [message[:3] for message in hand.messages] == said
    assert len(said) == 4 * (size - 1)

    # What really goes over the private communicator: the same, with the same content.
    state = ours.state
    channel, state.channel = state.channel, Recording(state.channel)
    try:
        ours.Allreduce(mine, by_plan, algorithm="ring")
        assert state.channel.messages == hand.messages
    finally:
        state.channel = channel
    assert by_hand.tobytes() == by_plan.tobytes()
    if length:
        comm.Allreduce(mine, native := np.zeros(length))
        np.testing.assert_allclose(by_hand, native, rtol=1e-12, atol=1e-12)
