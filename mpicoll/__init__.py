"""Collective communication re-implemented on MPI point-to-point calls."""
