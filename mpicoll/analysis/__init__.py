"""Interpreters of plans that need no MPI: symbolic proof, cost, simulation."""
