"""Algorithms side by side: what each of them sent, where it was narrow, and how long it took."""

from __future__ import annotations

from collections.abc import Sequence

from mpicoll.commands.units import show_bytes, show_seconds, table
from mpicoll.trace.model import Call
from mpicoll.trace.path import waited

__all__ = ["comparison", "facts_of"]


def facts_of(call: Call) -> dict[str, object]:
    """What a traced call amounts to.

    `busiest` is the rank through which most bytes went, both ways; `share` is its part of what all
    ranks sent and received, so 1 / P if they share the load evenly.
    """
    sent = {rank: 0 for rank in call.members}
    received = dict(sent)
    for message in call.messages:
        sent[message.source] += message.nbytes
        received[message.peer] += message.nbytes
    through = {rank: sent[rank] + received[rank] for rank in sent}
    busiest = max(through, key=through.get)
    total = sum(through.values())
    contents = call.contents
    return {
        "algorithm": call.algorithm,
        "steps": contents.schedule.steps if contents else None,
        "messages": len(call.messages),
        "bytes_sent": sum(sent.values()),
        "most_bytes_sent": max(sent.values()),
        "busiest": busiest,
        "through_busiest": through[busiest],
        "share": through[busiest] / total if total else 1 / call.size,
        "seconds": (call.end - call.begin) * 1e-9,
        "waiting_seconds": max(waited(call).values(), default=0) * 1e-9,
    }


def comparison(calls: Sequence[Call]) -> str:
    """The facts of calls of one collective as a table."""
    rows = []
    for call in calls:
        facts = facts_of(call)
        rows.append(
            [
                facts["algorithm"],
                str(facts["steps"]),
                str(facts["messages"]),
                show_bytes(facts["bytes_sent"]),
                show_bytes(facts["most_bytes_sent"]),
                f"{show_bytes(facts['through_busiest'])} (rank {facts['busiest']}, "
                f"{100 * facts['share']:.0f} %)",
                show_seconds(facts["seconds"]),
                show_seconds(facts["waiting_seconds"]) if facts["waiting_seconds"] else "0",
            ]
        )
    head = ["algorithm", "steps", "messages", "sent", "most by one rank", "through the busiest"]
    even = 100 / calls[0].size
    return "\n".join(
        [
            table([*head, "time", "longest wait"], rows),
            f"through the busiest: sent and received, and its part of all; {even:.0f} % is even",
        ]
    )
