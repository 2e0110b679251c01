"""Event simulation of the plans of an algorithm on a network, in the LogGP model.

A rank posts the messages of a round one after the other, each for an overhead of processor time,
waits for all of them, pays an overhead for each that arrives, in the order of arrival, and then
combines and copies. A message occupies the sender's link from its turn on for its bytes; its head
reaches the other end a latency later and occupies the receiver's link as soon as that is free. The
ranks of a node share the links to other nodes, in both directions; messages for another leaf switch
also pass one of its uplinks and one of the other's. Links serve messages in the order in which they
come, switches hold as much as they must. Messages between two ranks match in the order of posting,
as in MPI. Above the threshold of rendezvous a message leaves only after a request and an answer, a
latency each, once the receive is posted.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mpicoll.analysis.events import Events, SimulationError
from mpicoll.analysis.links import SCOPES, Links, Rates
from mpicoll.analysis.network import Network, place
from mpicoll.analysis.workload import Workload, read
from mpicoll.registry import Algorithm

__all__ = ["Simulation", "SimulationError", "simulate"]


@dataclass
class Simulation:
    """What happened.

    Attributes:
        finish: seconds at which each rank is through.
        traffic: (messages, bytes) by scope: within nodes, within leaf switches, beyond.
        links: bytes that each link carried, by its name, such as ``("nic out", node, card)``.
        ends: of each rank, the time at which each of its rounds ended.
        causes: of each rank, what each round had to wait for: -1 its own posting, n >= 0 the
            arrival of message n, -2 - n the leaving of its own message n. Messages are numbered
            by sender and order of posting; `first` has the number of each rank's first.
        late: messages that waited for a receive, and (rank, round) of that receive.
    """

    workload: Workload
    network: Network
    nbytes: int
    nodes: tuple[int, ...]
    rates: Rates
    finish: list[float]
    traffic: dict[str, tuple[int, float]]
    links: dict[tuple, float]
    ends: list[array]
    causes: list[array]
    first: list[int]
    late: dict[int, tuple[int, int]]

    @property
    def seconds(self) -> float:
        """When the last rank is through."""
        return max(self.finish)


def simulate(
    algorithm: Algorithm,
    size: int,
    nbytes: int,
    network: Network,
    *,
    root: int = 0,
    nodes: Sequence[int] | None = None,
    limit: int = 20_000_000,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
    **parameters: object,
) -> Simulation:
    """Run all ranks of a collective of `nbytes` bytes (m) on a network; all start at 0.

    `nodes` is the node of each rank (consecutive ranks fill nodes unless given), which an algorithm
    with a parameter of that name is told, too. `limit` bounds the number of messages; `progress` is
    told ("plans" or "rounds", how many are done, of how many).
    """
    nodes = tuple(nodes) if nodes is not None else place(network, size)
    if len(nodes) != size:
        raise ValueError(f"nodes must have one entry per rank, {size}, not {len(nodes)}")
    if min(nodes) < 0:
        raise ValueError("nodes must be numbers from 0 on")
    if len(set(nodes)) > 1 and network.inter is None:
        raise ValueError(f"network {network.name} is a single node: it says nothing of 'inter'")
    if nbytes < 0:
        raise ValueError(f"bytes must be 0 or more, not {nbytes}")
    if "nodes" in algorithm.parameters:
        parameters.setdefault("nodes", nodes)
    workload = read(algorithm, size, root, parameters, limit=limit, progress=progress)
    links, rates = Links(network, nodes), Rates.of(network, nodes)
    block = nbytes / workload.blocks
    events = Events(workload.plans, block, links, rates, network.rendezvous)
    events.run(progress)
    return Simulation(
        workload,
        network,
        nbytes,
        nodes,
        rates,
        [ends[-1] if ends else 0.0 for ends in events.ends],
        {name: (events.count[i], events.bytes[i]) for i, name in enumerate(SCOPES)},
        {name: n for name, n in zip(links.names, links.carried, strict=True) if n},
        events.ends,
        events.causes,
        events.first,
        events.late,
    )
