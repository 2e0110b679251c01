"""Counting what a program's collectives send: calls, messages and bytes, by primitive and group.

A `Group` is a communicator under a name. Its bytes are those of the messages that are really handed
to MPI on the private communicator, each of which carries the tag of its collective; nothing is
computed from a formula. MPI's own collectives send where nobody can look: with them, calls are
counted, and messages and bytes only for Send and the like.
"""

import threading
from collections import defaultdict

import numpy as np
from mpi4py import MPI

from mpicoll.execution.message import read_message
from mpicoll.execution.observe import observe, unobserve

# The algorithms whose volume is the one in the textbooks. The automatic choice would take others
# for short messages, which send more bytes in fewer messages.
ALGORITHMS = {
    "bcast": "binomial",
    "reduce": "binomial",
    "scatter": "linear",
    "scatterv": "linear",
    "gather": "linear",
    "gatherv": "linear",
    "allgather": "ring",
    "allgatherv": "ring",
    "reduce_scatter": "ring",
    "reduce_scatter_block": "ring",
    "allreduce": "ring",
    "alltoall": "pairwise",
    "alltoallv": "pairwise",
}
MESSAGES = {"send", "sendrecv"}


def primitive_of(method):
    """The primitive of a method's name, whether it waits or not; None for other methods.

    >>> primitive_of("Iallreduce"), primitive_of("Allreduce"), primitive_of("Get_rank")
    ('Allreduce', 'Allreduce', None)
    """
    for name in (method.lower(), method.lower().removeprefix("i")):
        if name in ALGORITHMS or name in MESSAGES:
            return name.capitalize()
    return None


class Traffic:
    """The account of one rank: ``rows[primitive, group]`` is ``[calls, messages, bytes]``.

    It observes all collectives of the process until `close`, to know which tag belongs to which.
    """

    def __init__(self):
        self.rows = defaultdict(lambda: [0, 0, 0])
        self.peers = defaultdict(set)  # whom messages of a row went to
        self.lock = threading.Lock()  # a helper thread may send as well
        self.names, self.tags = {}, {}
        observe(self)

    def close(self):
        """Count no more."""
        unobserve(self)

    def add(self, row, calls=0, messages=0, nbytes=0, peer=None):
        """Add to the numbers of a row."""
        with self.lock:
            if peer is not None:
                self.peers[row].add(peer)
            for place, number in enumerate((calls, messages, nbytes)):
                self.rows[row][place] += number

    def before(self, event):
        """Note the tag of a call on one of the groups."""
        if event.state in self.names:
            self.tags[event.state, event.tag] = (
                primitive_of(event.method),
                self.names[event.state],
            )

    def after(self, event, error):
        """The messages have been counted as they were sent."""

    def watch(self, state, name):
        """Count every message of a communicator's collectives, by its tag."""
        if state in self.names:
            raise ValueError(f"a communicator is counted as {self.names[state]!r} already")
        self.names[state] = name

        def sent(spec, dest, tag):
            _, count, datatype = spec
            row = self.tags[state, tag]
            self.add(row, messages=1, nbytes=count * datatype.Get_size(), peer=dest)

        class Counting(type(state.channel)):
            def Send(self, spec, dest, tag):
                sent(spec, dest, tag)
                return super().Send(spec, dest, tag)

            def Isend(self, spec, dest, tag):
                sent(spec, dest, tag)
                return super().Isend(spec, dest, tag)

            def Sendrecv(self, spec, dest, tag, *rest):
                sent(spec, dest, tag)
                return super().Sendrecv(spec, dest, tag, *rest)

        state.channel = Counting(state.channel)


class Group:
    """A communicator, of mpicoll's or MPI's own, whose communication is counted in `traffic`.

    It has everything the communicator has. Collectives on buffers and Send, Isend, Sendrecv are
    counted; what works on objects and persistent requests is refused, since it would not be.
    """

    def __init__(self, comm, name, traffic):
        self.comm, self.name, self.traffic = comm, name, traffic
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.ours = hasattr(comm, "state")  # under `mpicoll run`, isinstance says yes to all
        if self.ours:
            traffic.watch(comm.state, name)

    def __getattr__(self, name):
        attribute, primitive = getattr(self.comm, name), primitive_of(name)
        if name.endswith("_init") or (primitive and name.islower() and "recv" not in name):
            raise AttributeError(f"{name} would not be counted; use the form with buffers")
        if primitive is None:
            return attribute
        if primitive.lower() in MESSAGES:
            return self._message(attribute, primitive)
        return self._collective(attribute, primitive)

    def _collective(self, method, primitive):
        def call(*arguments, **keywords):
            self.traffic.add((primitive, self.name), calls=1)
            if self.ours:
                keywords.setdefault("algorithm", ALGORITHMS[primitive.lower()])
            else:
                keywords.pop("algorithm", None)
            return method(*arguments, **keywords)

        return call

    def _message(self, method, primitive):
        def call(sendbuf, dest, *arguments, **keywords):
            if dest != MPI.PROC_NULL:
                message = read_message(sendbuf, writable=False)
                nbytes = message.count * message.kind.size
                self.traffic.add((primitive, self.name), 1, 1, nbytes, dest)
            return method(sendbuf, dest, *arguments, **keywords)

        return call


def everybody(traffic, comm):
    """The sums over all ranks, and the busiest rank's, as a table that every rank gets.

    ``table[primitive, group]`` is ``(calls, messages, bytes, most bytes)``, calls being those of
    the rank with the most. Collective on `comm`, on which nothing is counted.
    """
    accounts = comm.allgather(dict(traffic.rows))
    table = {}
    for row in dict.fromkeys(row for account in accounts for row in account):
        numbers = np.array([account.get(row, (0, 0, 0)) for account in accounts])
        calls, _, most = map(int, numbers.max(0))
        _, messages, nbytes = map(int, numbers.sum(0))
        table[row] = (calls, messages, nbytes, most)
    return table
