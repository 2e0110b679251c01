"""What the tests on several ranks share: distinct data, guarded memory, algorithms that serve."""

import numpy as np

from mpicoll.registry import algorithms_of

GUARD = 64
SENTINEL = 0xA5


def values(rank, n, dtype="i8"):
    """Small numbers that differ between ranks and elements; their sums are exact in every dtype."""
    base = ((np.arange(n) * 7 + rank * 13 + 5) % 31).astype("i8")
    if np.dtype(dtype).kind == "c":
        return (base + 1j * ((base * 3 + rank) % 17)).astype(dtype)
    if np.dtype(dtype).kind == "b":
        return base % 2 == 1
    return base.astype(dtype)


def rows(size, n, dtype="i8"):
    """The values of all ranks, one row for each."""
    return np.array([values(rank, n, dtype) for rank in range(size)], dtype).reshape(size, n)


class Guarded:
    """An array of sentinel bytes with guards around it, which `intact` inspects."""

    def __init__(self, shape, dtype="i8"):
        count = int(np.prod(shape))
        nbytes = count * np.dtype(dtype).itemsize
        self.whole = np.full(nbytes + 2 * GUARD, SENTINEL, "u1")
        self.array = self.whole[GUARD : GUARD + nbytes].view(dtype).reshape(shape)

    @property
    def intact(self):
        """Nothing was written outside the array."""
        return (self.whole[:GUARD] == SENTINEL).all() and (self.whole[-GUARD:] == SENTINEL).all()

    @property
    def untouched(self):
        """Nothing was written at all."""
        return (self.whole == SENTINEL).all()

    def holds(self, expected):
        """The array has these very bits, and the guards are intact."""
        expected = np.ascontiguousarray(expected, self.array.dtype).reshape(self.array.shape)
        if expected.dtype.char in "gG":  # long doubles have bits that mean nothing
            return self.intact and np.array_equal(self.array, expected)
        return self.intact and self.array.tobytes() == expected.tobytes()


def serving(collective, size, **conditions):
    """None, which leaves the choice to mpicoll, and every algorithm that serves a call."""
    names = [a.name for a in algorithms_of(collective) if not a.unmet(size, **conditions)]
    return [None, *names]


def raised(call, *arguments, **keywords):
    """The exception that a call raises, or None."""
    try:
        call(*arguments, **keywords)
    except Exception as error:
        return error
    return None


def drain(comm):
    """Take the messages away that a call left behind which failed on some ranks only."""
    channel = comm.state.channel
    while channel.Iprobe():
        channel.Recv(bytearray(1 << 16))


class OnlyDLPack:
    """Memory that speaks DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
