"""Starting MPI programs, watching them, and ending them with a report when they fail or hang.

``library`` finds the MPI library that mpi4py loads and its ``mpiexec``; ``command`` builds the
command line; ``supervise`` runs it under a deadline; ``child`` is what each rank starts in.

Environment variables: MPICOLL_MPIEXEC names the launcher to use. The ranks of a supervised job find
MPICOLL_REPORT, the parent's directory, and, if rank 0's output goes to a terminal, its width in
MPICOLL_COLUMNS (rank 0 itself only sees a pipe).
"""


class LaunchError(RuntimeError):
    """MPI programs cannot be started here; the message says what to do."""
