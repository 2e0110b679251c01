"""Networks for cost and simulation: what a message, a byte and an addition cost, and where.

All times are seconds, all sizes bytes. A message of n bytes from one idle rank to another takes
``overhead + latency + n * per_byte + overhead``, so that in the terms of the alpha-beta-gamma model
alpha = latency + 2 overhead, beta = per_byte and gamma = reduce. The words and the model are those
of LogGP (Alexandrov, Ionescu, Schauser & Scheiman 1995), with two levels: within a node and between
nodes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace

from mpicoll.files import FileError, read_json

__all__ = ["Level", "Network", "NetworkError", "load", "network", "parse", "place"]

#: A network file is a page of numbers; more is a mistake.
MOST_BYTES = 64 * 1024

#: No time in a network is longer than this, and no count larger: larger ones are mistakes in units.
MOST_SECONDS, MOST_COUNT = 60.0, 10**7


class NetworkError(ValueError):
    """A network that is not described as it has to be."""


@dataclass(frozen=True)
class Level:
    """The cost of a message between two ranks of one node, or between two nodes.

    Attributes:
        latency: seconds from the first byte leaving to the first byte arriving.
        overhead: seconds of processor per message, at each end.
        gap: least seconds between the starts of two messages on one link.
        per_byte: seconds per byte on the link, the inverse of its bandwidth.
        duplex: False if sending and receiving share the link, as copies through memory do.
    """

    latency: float
    overhead: float
    per_byte: float
    gap: float = 0.0
    duplex: bool = True

    @property
    def alpha(self) -> float:
        """Seconds for a message without content, from call to call."""
        return self.latency + 2 * self.overhead


@dataclass(frozen=True)
class Network:
    """A machine.

    Attributes:
        intra, inter: messages within a node and between nodes. Each rank has its own link within
            the node; the ranks of a node share its links to the outside.
        ranks_per_node: None for a single node that holds all ranks.
        links: network cards per node; the ranks of a node use them in turn.
        cores: processors per node. If there are more ranks, what processors do (overheads, copies
            within the node, reductions) takes longer in proportion. None: enough.
        reduce: seconds per byte of result of a local reduction. copy: of a local copy.
        rendezvous: messages of more bytes wait until the receive is posted. None: none do.
        nodes_per_switch: nodes that share a leaf switch; None for one switch that never jams.
        uplinks: links of a leaf switch to the rest, each as fast as one of a node.
        switch_latency: seconds more between nodes of different leaf switches.
    """

    name: str
    intra: Level
    inter: Level | None = None
    ranks_per_node: int | None = None
    links: int = 1
    cores: int | None = None
    reduce: float = 0.0
    copy: float = 0.0
    rendezvous: int | None = None
    nodes_per_switch: int | None = None
    uplinks: int = 1
    switch_latency: float = 0.0

    def level(self, size: int) -> Level:
        """The level that the alpha-beta-gamma model uses: the slowest that `size` ranks need."""
        return self.intra if self.nodes(size) == 1 else self.inter

    def nodes(self, size: int) -> int:
        """How many nodes `size` ranks fill."""
        return 1 if self.ranks_per_node is None else -(-size // self.ranks_per_node)

    def on(self, size: int, nodes: int) -> Network:
        """The same machine with `size` ranks spread over `nodes` nodes."""
        if not 1 <= nodes <= size:
            raise NetworkError(f"{size} ranks cannot fill {nodes} nodes")
        if nodes > 1 and self.inter is None:
            raise NetworkError(f"network {self.name} is a single node: it says nothing of 'inter'")
        return replace(self, ranks_per_node=-(-size // nodes))

    def slowdown(self, ranks: int) -> float:
        """How many of the ranks of a node share a processor, at least 1."""
        return max(1.0, ranks / self.cores) if self.cores else 1.0

    def as_json(self) -> dict[str, object]:
        """The form that `parse` reads."""
        return asdict(self)


def place(network: Network, size: int) -> tuple[int, ...]:
    """The node of each rank: consecutive ranks fill one node after the other."""
    per_node = network.ranks_per_node or size
    return tuple(rank // per_node for rank in range(size))


def network(name: str) -> Network:
    """A network by the name of a preset or the path of a JSON file."""
    from mpicoll.analysis.presets import PRESETS

    if name in PRESETS:
        return PRESETS[name]
    if not os.path.exists(name):
        raise NetworkError(f"no preset and no file {name!r}; presets: {', '.join(PRESETS)}")
    return load(name)


def load(path: str) -> Network:
    """Read a network from a JSON file."""
    try:
        data = read_json(path, "network", MOST_BYTES)
    except FileError as error:
        raise NetworkError(str(error)) from None
    try:
        return parse(data)
    except ValueError as error:
        raise NetworkError(f"{path}: {error}") from None


def parse(data: object) -> Network:
    """A network from what JSON says: the attributes of `Network` and `Level` by their names."""
    known = _known(data, Network, "a network")
    for name in ("intra", "inter"):
        if known.get(name) is not None:
            level = _known(known[name], Level, f"{name!r}")
            known[name] = Level(**{k: _checked(f"{name}.{k}", k, v) for k, v in level.items()})
    for name, value in known.items():
        if name not in ("intra", "inter"):
            known[name] = _checked(name, name, value)
    if known.get("ranks_per_node") is not None and known.get("inter") is None:
        raise NetworkError("a network of several nodes ('ranks_per_node') needs 'inter'")
    return Network(**known)


def _known(data: object, kind: type, what: str) -> dict[str, object]:
    names = [field.name for field in fields(kind)]
    if not isinstance(data, Mapping):
        raise NetworkError(f"{what} is an object with {', '.join(names)}, not {_short(data)}")
    unknown = [str(name) for name in data if name not in names]
    if unknown:
        raise NetworkError(
            f"{what} has no {', '.join(map(repr, unknown[:5]))}; it has: {', '.join(names)}"
        )
    needed = {Level: ("latency", "overhead", "per_byte"), Network: ("name", "intra")}[kind]
    missing = [name for name in needed if data.get(name) is None]
    if missing:
        raise NetworkError(f"{what} needs {', '.join(map(repr, missing))}")
    return dict(data)


_COUNTS = {"ranks_per_node": 1, "links": 1, "cores": 1, "nodes_per_switch": 1, "uplinks": 1}
_OPTIONAL = {"ranks_per_node", "cores", "rendezvous", "nodes_per_switch"}


def _checked(label: str, name: str, value: object) -> object:
    if value is None and name in _OPTIONAL:
        return None
    if name == "name":
        if not isinstance(value, str) or not value.isprintable() or not 0 < len(value) <= 80:
            raise NetworkError(f"{label!r} must be a line of at most 80 characters")
        return value
    if name == "duplex":
        if not isinstance(value, bool):
            raise NetworkError(f"{label!r} must be true or false, not {_short(value)}")
        return value
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if name in _COUNTS or name == "rendezvous":
        most = 2**62 if name == "rendezvous" else MOST_COUNT
        if not number or value != int(value) or not _COUNTS.get(name, 0) <= value <= most:
            least = _COUNTS.get(name, 0)
            raise NetworkError(f"{label!r} must be a whole number from {least} to {most}")
        return int(value)
    if not number or not math.isfinite(value) or not 0 <= value <= MOST_SECONDS:
        raise NetworkError(
            f"{label!r} must be seconds, from 0 to {MOST_SECONDS:g}, not {_short(value)}"
        )
    return float(value)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
