"""Collective communication re-implemented on MPI point-to-point calls, checked against MPI.

``comm = mpicoll.Intracomm(MPI.COMM_WORLD)`` has mpi4py's interface; its collectives are mpicoll's.
The package imports without an MPI library: what needs one is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

# Where the public names live. Those in the first group need mpi4py and an MPI library.
_HOMES = {
    "Cartcomm": "mpicoll.communicator",
    "Distgraphcomm": "mpicoll.communicator",
    "Graphcomm": "mpicoll.communicator",
    "Intercomm": "mpicoll.communicator",
    "Intracomm": "mpicoll.communicator",
    "Topocomm": "mpicoll.communicator",
    "wrap": "mpicoll.communicator",
    "Prequest": "mpicoll.execution.request",
    "Request": "mpicoll.execution.request",
    "AVG": "mpicoll.execution.reduction",
    "ArgumentError": "mpicoll.errors",
    "MismatchError": "mpicoll.errors",
    "PeerError": "mpicoll.errors",
    "Mesh": "mpicoll.mesh",
    "RequirementError": "mpicoll.registry",
    "algorithm": "mpicoll.registry",
    "tuning": "mpicoll.selection",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'mpicoll' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_HOMES))
