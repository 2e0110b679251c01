"""Which send met which receive, from what all ranks noted; and how long the chains were."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

__all__ = ["Pair", "Traffic", "traffic"]


@dataclass(frozen=True)
class Pair:
    """A message: its send on rank `source`, its receive on rank `target`; either may be missing."""

    source: int
    target: int
    send: dict[str, Any] | None
    recv: dict[str, Any] | None


@dataclass(frozen=True)
class Traffic:
    """All messages of a case: those that met, lonely sends, lonely receives."""

    ops: dict[int, list[dict[str, Any]]]
    pairs: list[Pair]
    sends: list[Pair]
    receives: list[Pair]

    @property
    def depth(self) -> int:
        """The longest chain of messages, each sent after the one before was received."""
        clocks: dict[int, list[tuple[int, str, int]]] = defaultdict(list)
        for number, pair in enumerate(self.pairs):
            clocks[pair.source].append((pair.send["post"], "send", number))
            if pair.recv["done"] is not None:
                clocks[pair.target].append((pair.recv["done"], "recv", number))
        events = {rank: sorted(items) for rank, items in clocks.items()}
        at, reached = dict.fromkeys(events, 0), dict.fromkeys(events, 0)
        depth: dict[int, int] = {}
        moved = True
        while moved:
            moved = False
            for rank, items in events.items():
                while at[rank] < len(items):
                    _, what, number = items[at[rank]]
                    if what == "send":
                        depth[number] = reached[rank] + 1
                    elif number in depth:
                        reached[rank] = max(reached[rank], depth[number])
                    else:
                        break
                    at[rank] += 1
                    moved = True
        return max(depth.values(), default=0)

    def sent(self, rank: int) -> list[dict[str, Any]]:
        """The sends of a rank to others."""
        return [o for o in self.ops.get(rank, []) if _counts(o, "send") and o["peer"] != rank]

    def received(self, rank: int) -> list[dict[str, Any]]:
        """The receives of a rank."""
        return [o for o in self.ops.get(rank, []) if _counts(o, "recv")]


def _counts(op: dict[str, Any], kind: str) -> bool:
    return op["kind"] == kind and not op.get("null") and not op.get("failed")


def traffic(ops: dict[int, list[dict[str, Any]]]) -> Traffic:
    """Pair sends and receives in the order in which MPI does.

    A complete receive knows its source and tag; one that is still waiting gets the first send that
    fits and that no complete one took.
    """
    queues: dict[tuple, list[dict[str, Any]]] = defaultdict(list)
    for source, items in ops.items():
        for op in items:
            if _counts(op, "send"):
                queues[_channel(op), source, op["peer"]].append(op)
    pairs, receives, open_ones = [], [], []
    for target, items in ops.items():
        for op in items:
            if _counts(op, "recv"):
                (open_ones if op["done"] is None else pairs).append((target, op))
    met = []
    for target, op in pairs:
        queue = queues[_channel(op), op.get("source"), target]
        send = next((s for s in queue if s["tag"] == op.get("got_tag")), None)
        if send is None:
            receives.append(Pair(-1, target, None, op))
            continue
        queue.remove(send)
        met.append(Pair(op["source"], target, send, op))
    for target, op in open_ones:
        sources = sorted(ops) if op["peer"] is None else [op["peer"]]
        for source in sources:
            queue = queues[_channel(op), source, target]
            send = next((s for s in queue if op["tag"] in (None, s["tag"])), None)
            if send is not None:
                queue.remove(send)
                met.append(Pair(source, target, send, op))
                break
        else:
            receives.append(Pair(-1, target, None, op))
    sends = [Pair(key[1], key[2], s, None) for key, queue in queues.items() for s in queue]
    return Traffic(ops, met, sends, receives)


def _channel(op: dict[str, Any]) -> tuple[str, bool]:
    return op["comm"], op.get("comm_kind") == "objects"
