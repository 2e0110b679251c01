"""The command line of mpicoll with broken algorithms, each under the name of its fault.

python broken.py FAULT check COLLECTIVE --algorithm FAULT ...

What an algorithm cannot say (such as writing where it must not) is broken in the execution.
"""

import ctypes
import sys

from mpicoll.algorithms.phases import binomial_bcast, binomial_reduce
from mpicoll.registry import algorithm
from mpicoll.steps import Copy, Input, Nothing, Output, Recv, Reduce, Send, Temp


def any_order(collective):
    return algorithm(collective, rounds="0", volume="0", order="commutative", blocks="1")


@algorithm("allgather", rounds="0", volume="0")
def wrong_chunk(rank, size):
    """What comes from the last two ranks changes places."""
    places = {size - 1: size - 2, size - 2: size - 1}
    others = [peer for peer in range(size) if peer != rank]
    sends = [Send(peer, Input[rank]) for peer in others]
    receives = [Recv(peer, Output[places.get(peer, peer)]) for peer in others]
    yield (*sends, *receives, Copy(Input[rank], Output[places.get(rank, rank)]))


@any_order("allreduce")
def dropped(rank, size):
    """Rank 1's contribution gets lost."""
    last = size - 1
    if rank == last:
        yield Recv(0, Temp[:]), Reduce(Temp[:], Input[:], Output[:])
    elif rank == 0:
        yield Send(last, Input[:])
    yield from binomial_bcast(rank, size, last, Output[:])


@any_order("allreduce")
def doubled(rank, size):
    """Rank 0's contribution counts twice."""
    yield Copy(Input[:], Temp.row(9)[:])
    yield from binomial_reduce(rank, size, 0, Input, Output)
    if rank == 0:
        yield Reduce(Temp.row(9)[:], Output[:], Output[:])
    yield from binomial_bcast(rank, size, 0, Output[:])


@algorithm("allreduce", rounds="0", volume="0", order="rank", blocks="1")
def swapped(rank, size):
    """The operands of the last reduction have changed places."""
    if rank == 1:
        yield Send(0, Input[:])
    elif rank == 0:
        yield Recv(1, Temp[:]), Reduce(Temp[:], Input[:], Output[:])
    yield from binomial_bcast(rank, size, 0, Output[:])


@any_order("allreduce")
def input_written(rank, size):
    """Partial results are kept in the input."""
    if rank == 0:
        for peer in range(1, size):
            yield Recv(peer, Temp[:]), Reduce(Temp[:], Input[:], Input[:])
        yield Copy(Input[:], Output[:])
    else:
        yield Send(0, Input[:])
    yield from binomial_bcast(rank, size, 0, Output[:])


@any_order("allreduce")
def other_bits(rank, size):
    """Every rank adds in an order of its own."""
    others = [(rank + i) % size for i in range(1, size)]
    sends = [Send(peer, Input[:]) for peer in others]
    yield (*sends, *(Recv(peer, Temp.row(peer)[:]) for peer in others))
    yield Copy(Input[:], Output[:])
    for peer in others:
        yield Reduce(Output[:], Temp.row(peer)[:], Output[:])


@algorithm("bcast", rounds="0", volume="0", blocks="1")
def hang(rank, size, *, root):
    """The last rank waits for a message that is never sent."""
    yield from binomial_bcast(rank, size, root, Output[:])
    if rank == size - 1:
        yield Recv(0, Temp[:])


@algorithm("bcast", rounds="0", volume="0", blocks="1")
def stray(rank, size, *, root):
    """Rank 0 sends a message that is never received."""
    yield from binomial_bcast(rank, size, root, Output[:])
    if rank == 0:
        yield Send(1, Nothing)


@algorithm("bcast", rounds="0", volume="0", blocks="1")
def raising(rank, size, *, root):
    """Rank 1 raises an exception."""
    if rank == 1:
        raise ArithmeticError("rank 1 cannot go on")
    yield from binomial_bcast(rank, size, root, Output[:])


@algorithm("bcast", rounds="0", volume="0", blocks="1")
def crash(rank, size, *, root):
    """Rank 1 ends without a word."""
    if rank == 1:
        ctypes.string_at(0)
    yield from binomial_bcast(rank, size, root, Output[:])


@algorithm("barrier", rounds="0", volume="0")
def leaky(rank, size):
    """Ranks tell rank 0 that they have come, and do not wait for the others."""
    if rank:
        yield Send(0, Nothing)
    else:
        yield tuple(Recv(peer, Nothing) for peer in range(1, size))


def around_run(fault):
    from mpicoll.execution import state

    run = state.run

    def broken(program, channel, tag):
        run(program, channel, tag)
        fault(program, channel, tag)

    state.run = broken
    state.State.remember = lambda *arguments: None  # no call may find a shorter way


def beyond(program, channel, tag):
    """One byte too many is written by whoever receives."""
    from mpicoll.execution.bind import MANY, RECV, SENDRECV

    for kind, first, _, second, _, _ in program:
        alone = {RECV: [first], SENDRECV: [second]}.get(kind, [])
        for memory, count, _ in [spec for spec, _ in second] if kind == MANY else alone:
            if count:
                ctypes.memset(memory.address + count, 0, 1)


def native(program, channel, tag):
    channel.Barrier()


def secret(program, channel, tag):
    """Ranks 0 and 1 exchange more than the plan has."""
    if channel.Get_rank() == 0:
        channel.send("more", 1, tag)
    elif channel.Get_rank() == 1:
        channel.recv(source=0, tag=tag)


def output_touched():
    """Reduce writes zeros where it receives nothing."""
    from mpicoll.communicator import Intracomm

    reduce = Intracomm.Reduce

    def broken(self, sendbuf, recvbuf, op, root, **keywords):
        reduce(self, sendbuf, recvbuf, op, root, **keywords)
        if self.Get_rank() != root:
            memory = recvbuf if not isinstance(recvbuf, list) else recvbuf[0]
            memory.view("u1")[:1] = 0

    Intracomm.Reduce = broken


EXECUTION = {
    "beyond": lambda: around_run(beyond),
    "native": lambda: around_run(native),
    "secret": lambda: around_run(secret),
    "output_touched": output_touched,
}

if __name__ == "__main__":
    from mpicoll.__main__ import main

    fault, *words = sys.argv[1:]
    if fault in EXECUTION:
        EXECUTION[fault]()
    sys.exit(main(words))
