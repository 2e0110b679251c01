"""A failing call made once more with elements that carry where they come from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mpicoll.check.cases import Call, Variant
from mpicoll.check.kinds import traced_kind
from mpicoll.check.session import Session
from mpicoll.check.trace import TRACE, describe

__all__ = ["explain"]

#: Ranks that are told about.
MOST = 4


def explain(session: Session, variant: Variant, call: Call, form: str) -> str:
    """On rank 0, what went wrong where; collective."""
    if call.kind is None:
        return ""
    traced = replace(call, kind=traced_kind(call.kind), layout="plain", twice=False)
    session.watch(f"explaining {variant} ({form}): {call}")
    made = session.prepare(traced)
    made.reset()
    again = session.make(variant, traced, form, made)
    again.start()
    again.finish()
    again.free()
    ordered = call.kind.operation is not None and not call.kind.operation.commutative
    mine = ""
    for number, slot in enumerate(made.layout.outputs):
        images = (made.receive.read(slot), made.target.native[number])
        before = made.receive.read(slot, made.receive.initial)
        triples = zip(
            *(np.ascontiguousarray(m).view(TRACE) for m in (*images, before)), strict=True
        )
        block = f" of block {number}" if len(made.layout.outputs) > 1 else ""
        for element, (got, expected, initial) in enumerate(triples):
            text = describe(got, expected, initial, call.method.spec.reduces, ordered)
            if text and not mine:
                mine = f"element {element}{block} of rank {session.rank}'s result {text}"
    everyone = session.plain.gather(mine)
    if session.rank:
        return ""
    told = [text for text in everyone if text]
    if not told:
        return "made with elements that carry where they come from, the call is right"
    more = [f"... and {len(told) - MOST} more ranks"] if len(told) > MOST else []
    return "\n".join(told[:MOST] + more)
