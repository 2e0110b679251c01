"""Waiting for MPI's own requests while collectives of ours are pending."""

from __future__ import annotations

from mpicoll.execution import native
from mpicoll.execution.progress import progress

__all__ = ["natively"]

#: How a wait of MPI is made of its tests: when they are done, and what is returned then.
_WAITS = {
    "Waitall": (lambda found: found, lambda found: True),
    "waitall": (lambda found: found[0], lambda found: found[1]),
    "Waitany": (lambda found: found[1], lambda found: found[0]),
    "waitany": (lambda found: found[1], lambda found: (found[0], found[2])),
    "Waitsome": (lambda found: found != [], lambda found: found),
    "waitsome": (lambda found: found[0] != [], lambda found: found),
}


def natively(name: str, *arguments: object, **keywords: object) -> object:
    """Wait or test by MPI's own function, and keep collectives moving meanwhile."""
    if not progress.pending:
        return getattr(native.Request, name)(*arguments, **keywords)
    if name not in _WAITS:
        progress.move()
        return getattr(native.Request, name)(*arguments, **keywords)
    done, result = _WAITS[name]
    test = getattr(native.Request, name.replace("Wait", "Test").replace("wait", "test"))
    found = None

    def ready() -> bool:
        nonlocal found
        found = test(*arguments, **keywords)
        return done(found)

    progress.until(ready)
    return result(found)
