"""What a collective call says about itself, and which of it all ranks must say alike."""

from __future__ import annotations

from functools import lru_cache

from mpi4py import MPI

from mpicoll.diagnosis.signature import Signature, parts, signature, total
from mpicoll.execution.event import Event
from mpicoll.execution.message import Message, Vector

__all__ = ["agreed", "operation_name", "pairwise", "sizes"]

#: Calls in which pairs of ranks agree on what goes between them, and no more.
PAIRS = ("scatter", "gather", "alltoall")


def agreed(event: Event) -> dict[str, str]:
    """Root, dtype, count, operation and algorithm, as far as MPI wants them alike on all ranks.

    Counts are those of MPI's definition: of a block where each rank has one, of the whole vector in
    reductions. In the v and w forms only pairs must agree; see `pairwise`.
    """
    facts: dict[str, str] = {}
    inter = event.state.sides is not None
    rooted = event.collective in ("bcast", "reduce", "scatter", "gather")
    if rooted and not inter:
        facts["root"] = str(event.root)
    if event.call is not None and not inter and event.call.fixed is None:
        _buffers(event, facts)
    if event.operation is not None:
        average = event.call is not None and event.call.reduction.average
        facts["op"] = "AVG" if average else operation_name(event.operation)
    if event.algorithm != "linear" or not inter:
        more = ",".join(f"{name}={value}" for name, value in sorted(event.parameters.items()))
        facts["algorithm"] = event.algorithm + (f"({more})" if more else "")
    return facts


def _buffers(event: Event, facts: dict[str, str]) -> None:
    """Add dtype and count, or counts."""
    call = event.call
    if call.counts is not None:
        facts["dtype"] = signature(_any(event).kind, 1).types
        facts["counts"] = ",".join(map(str, call.counts))
    elif event.collective == "allgather" and isinstance(call.buffers[1], Vector):
        each = parts(call.buffers[1])
        facts["counts"] = ",".join(str(part.count) for part in each)
        facts["dtype"] = ";".join(dict.fromkeys(part.types for part in each if part.count))
    elif call.equal_blocks and (message := _any(event)) is not None:
        found = total(message)
        facts["dtype"], facts["count"] = found.types or "none", str(found.count)


def _any(event: Event) -> Message | None:
    """The buffer that says how much there is: of a rank's block, or of the whole vector."""
    send, receive = event.call.buffers or (None, None)
    # At the root of a scatter or a gather both are a block's; a whole vector in place is received.
    return receive if send is None else send


def pairwise(event: Event) -> tuple[dict[int, Signature], dict[int, Signature]] | None:
    """What goes to which rank and comes from which, where only those two agree on it.

    None for calls in which all ranks agree.
    """
    call = event.call
    if call is None or event.state.sides is not None or call.fixed is not None:
        return None
    if event.collective not in PAIRS or call.equal_blocks:
        return None
    send, receive = (_by_rank(event, message) for message in call.buffers)
    if event.collective == "alltoall" and call.buffers[0] is None:
        send = receive  # in place
    return send, receive


def _by_rank(event: Event, message: Message | Vector | None) -> dict[int, Signature]:
    if message is None:
        return {}
    if isinstance(message, Vector):
        return dict(enumerate(parts(message)))
    return {event.root: total(message)}


def sizes(event: Event) -> dict[str, list]:
    """Counts and dtypes of what is sent and received, for a record of the call."""
    found: dict[str, list] = {}
    buffers = () if event.call is None else event.call.buffers
    for name, message in zip(("input", "output"), buffers, strict=False):
        if isinstance(message, Vector):
            found[name] = [[part.count, part.types] for part in parts(message)]
        elif message is not None:
            found[name] = [list(total(message)[::-1])]
    return found


def operation_name(operation: object) -> str:
    """The name of one of MPI's operations, of ours, or of a function."""
    if isinstance(operation, MPI.Op):
        return _op_name(operation.handle) or "user-defined"
    name = getattr(operation, "__qualname__", "")
    if name:
        return f"{getattr(operation, '__module__', '')}.{name}".lstrip(".")
    return type(operation).__name__


@lru_cache(maxsize=64)
def _op_name(handle: int) -> str:
    names = (name for name, value in vars(MPI).items() if isinstance(value, MPI.Op))
    return next((n for n in names if getattr(MPI, n).handle == handle), "")
