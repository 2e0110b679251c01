"""What `mpicoll run` does: unmodified mpi4py programs on our collectives.

``install`` puts our classes and communicators into mpi4py, ``program`` runs the program, and
``record`` keeps account of the collectives that it calls.
"""
