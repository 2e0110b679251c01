"""mpi4py's own classes, by names that stay when `mpicoll run` puts ours in their place."""

from mpi4py.MPI import (
    COMM_SELF,
    COMM_WORLD,
    Cartcomm,
    Comm,
    Distgraphcomm,
    Graphcomm,
    Intercomm,
    Intracomm,
    Prequest,
    Request,
    Topocomm,
)

__all__ = [
    "COMM_SELF",
    "COMM_WORLD",
    "Cartcomm",
    "Comm",
    "Distgraphcomm",
    "Graphcomm",
    "Intercomm",
    "Intracomm",
    "Prequest",
    "Request",
    "Topocomm",
]
