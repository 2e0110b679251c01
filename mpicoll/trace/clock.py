"""How far the clocks of the hosts are apart, by messages there and back.

The shortest of many round trips bounds the error: the answer was given somewhere within it, so the
offset is known to half of it (Cristian 1989). It is measured at the beginning and at the end of a
trace, between which clocks are taken to drift evenly. Ranks of one host share its clock.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

__all__ = ["Clocks", "Reading", "correction", "host_name"]

#: Round trips to each host.
TRIPS = 40


class Reading(NamedTuple):
    """At `at` on this rank's clock, rank 0's clock was `at - offset`, give or take `error` ns."""

    at: int
    offset: int
    error: int


def host_name() -> str:
    """A name for what shares a clock: the host, and when it was started."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8]
    except OSError:
        boot = ""
    return f"{socket.gethostname()} {boot}".strip()


class Clocks:
    """Compares this rank's clock with rank 0's; making one is collective on `comm`, mpi4py's own.

    All that is said here goes by messages, as everywhere in the package.
    """

    def __init__(
        self,
        comm: object,
        host: str,
        clock: Callable[[], int] = time.perf_counter_ns,
        trips: int = TRIPS,
    ) -> None:
        self.comm, self.clock, self.trips = comm, clock, trips
        self.rank, size = comm.Get_rank(), comm.Get_size()
        if self.rank:
            comm.send(host, 0)
            self.leader = comm.recv(source=0)
            return
        self.leader = 0
        hosts = [host, *(comm.recv(source=other) for other in range(1, size))]
        # The first rank of each host compares clocks for all of them.
        leaders = [hosts.index(name) for name in hosts]
        for other in range(1, size):
            comm.send(leaders[other], other)
        self._away = [(other, leader) for other, leader in enumerate(leaders) if leader]

    @property
    def apart(self) -> bool:
        """False if this rank need not take part in `read`, as it shares its clock with all."""
        return bool(self._away) if self.rank == 0 else self.leader != 0

    def read(self) -> Reading:
        """The reading of this rank; collective on those that are `apart`."""
        offset = error = 0
        if self.rank == 0:
            found: dict[int, tuple[int, int]] = {}
            for other, leader in self._away:
                if leader not in found:
                    found[leader] = self._ask(leader)
                self.comm.send(found[leader], other)
        elif self.leader:
            if self.leader == self.rank:
                self._answer()
            offset, error = self.comm.recv(source=0)
        return Reading(self.clock(), offset, error)

    def _ask(self, leader: int) -> tuple[int, int]:
        theirs, best = np.zeros(1, "i8"), None
        for _ in range(self.trips):
            before = self.clock()
            self.comm.Send(theirs, leader)
            self.comm.Recv(theirs, leader)
            after = self.clock()
            if best is None or after - before < 2 * best[1]:
                best = int(theirs[0]) - (before + after) // 2, (after - before + 1) // 2
        return best

    def _answer(self) -> None:
        mine = np.zeros(1, "i8")
        for _ in range(self.trips):
            self.comm.Recv(mine, 0)
            mine[0] = self.clock()
            self.comm.Send(mine, 0)


def correction(readings: Sequence[Reading]) -> Callable[[int], int]:
    """From a rank's clock to rank 0's: the function that the readings of that rank give."""
    if not readings:
        return lambda at: at
    first, last = readings[0], readings[-1]
    span = last.at - first.at
    if span <= 0 or first.offset == last.offset:
        return lambda at: at - first.offset
    drift = last.offset - first.offset
    return lambda at: at - first.offset - drift * (at - first.at) // span
