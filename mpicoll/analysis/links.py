"""The links of a simulated network: who takes which, when it is free, and what it carried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mpicoll.analysis.network import Network

__all__ = ["SCOPES", "Links", "Rates"]

#: How far a message goes: within its node, within its leaf switch, beyond.
SCOPES = ("node", "switch", "global")


@dataclass(frozen=True)
class Rates:
    """The network's seconds by scope, and per byte of local work, where processors are shared."""

    latency: tuple[float, ...]
    overhead: tuple[float, ...]
    gap: tuple[float, ...]
    per_byte: tuple[float, ...]
    reduce: float
    copy: float

    @classmethod
    def of(cls, network: Network, nodes: Sequence[int]) -> Rates:
        """The rates for ranks on these nodes."""
        slow = network.slowdown(max(Counter(nodes).values()))
        intra, inter = network.intra, network.inter or network.intra
        far = inter.latency + network.switch_latency
        return cls(
            (intra.latency, inter.latency, far),
            (slow * intra.overhead, slow * inter.overhead, slow * inter.overhead),
            (slow * intra.gap, inter.gap, inter.gap),
            (slow * intra.per_byte, inter.per_byte, inter.per_byte),
            slow * network.reduce,
            slow * network.copy,
        )


class Links:
    """The links: which is free when, and what it carried."""

    def __init__(self, network: Network, nodes: Sequence[int]) -> None:
        size = len(nodes)
        self.names: list[tuple] = []
        self.nodes, self.uplinks = nodes, network.uplinks
        name = "rank out" if network.intra.duplex else "rank"
        self.out = [self._new(name, rank) for rank in range(size)]
        self.into = self.out
        if network.intra.duplex:
            self.into = [self._new("rank in", rank) for rank in range(size)]
        cards: dict[tuple[int, int], tuple[int, int]] = {}
        users: dict[tuple[int, int], int] = {}
        members: dict[int, int] = {}
        mine = []
        for node in nodes:
            number = members.get(node, 0)
            members[node] = number + 1
            card = (node, number % network.links)
            if card not in cards:
                out = self._new("nic out", *card)
                duplex = network.inter is not None and network.inter.duplex
                cards[card] = (out, self._new("nic in", *card) if duplex else out)
            users[card] = users.get(card, 0) + 1
            mine.append(card)
        self.nic_out = [cards[card][0] for card in mine]
        self.nic_in = [cards[card][1] for card in mine]
        per = network.nodes_per_switch
        self.leaf = [node // per if per else 0 for node in nodes]
        leaves = max(self.leaf) + 1 if max(self.leaf) else 0
        self.up, self.down = (
            [
                [self._new(name, leaf, lane) for lane in range(network.uplinks)]
                for leaf in range(leaves)
            ]
            for name in ("uplink", "downlink")
        )
        # A link of one rank only is taken in the order of its posting: no need to queue for it.
        alone = network.inter is not None and network.inter.duplex and set(users.values()) == {1}
        self.exclusive = (network.intra.duplex, alone, alone)
        self.free = [0.0] * len(self.names)
        self.carried = [0.0] * len(self.names)

    def _new(self, *name: object) -> int:
        self.names.append(name)
        return len(self.names) - 1

    def scope(self, source: int, target: int) -> int:
        """How far a message goes: an index of `SCOPES`."""
        if self.nodes[source] == self.nodes[target]:
            return 0
        return 1 if self.leaf[source] == self.leaf[target] else 2

    def take(self, link: int, now: float, nbytes: float, gap: float, rate: float) -> float:
        """Take a link as soon as it is free, for the bytes of a message; when that is."""
        free = self.free[link]
        start = free if free > now else now
        busy = nbytes * rate
        self.free[link] = start + (busy if busy > gap else gap)
        self.carried[link] += nbytes
        return start
