"""Starting MPI programs, watching them, and ending them with a report when they fail or hang.

``library`` finds the MPI library that mpi4py loads and its ``mpiexec``; ``command`` builds the
command line; ``supervise`` runs it under a deadline; ``child`` is what each rank starts in.
"""


class LaunchError(RuntimeError):
    """MPI programs cannot be started here; the message says what to do."""
