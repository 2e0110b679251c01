"""A merged trace as JSON: everything that is known, in one object."""

from __future__ import annotations

from mpicoll.trace.model import Call, Event, Message, Trace
from mpicoll.trace.path import waited

__all__ = ["as_json", "call_json"]


def as_json(trace: Trace) -> dict[str, object]:
    """The trace; times are nanoseconds from the first record, on rank 0's clock."""
    return {
        "format": "mpicoll merged trace",
        "version": 1,
        "ranks": trace.size,
        "library": trace.library,
        "hosts": trace.hosts,
        "clock_error_ns": trace.clock_errors,
        "records": trace.records,
        "dropped": trace.dropped,
        "communicators": [list(members) for members in trace.comms],
        "message_fields": list(Message._fields),
        "part_fields": list(Event._fields),
        "calls": [call_json(call) for call in trace.calls],
        "messages": [list(message) for message in trace.messages],
        "problems": trace.problems,
    }


def call_json(call: Call) -> dict[str, object]:
    """One call, with its messages and parts; ranks in `parts` are those of its communicator."""
    data = {
        name: getattr(call, name)
        for name in "number comm count start collective method form algorithm root nbytes dtype "
        "op where whole problems".split()
    }
    data["parameters"] = dict(call.parameters)
    data["members"] = list(call.members)
    data["begin"], data["end"] = call.begin, call.end
    data["spans"] = {str(rank): list(span) for rank, span in sorted(call.spans.items())}
    data["messages"] = [list(message) for message in call.messages]
    data["parts"] = {
        str(rank): [list(part) for part in parts] for rank, parts in sorted(call.parts.items())
    }
    if call.whole:
        data["waited"] = {str(rank): late for rank, late in waited(call).items()}
    return data
