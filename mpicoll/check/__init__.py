"""Every algorithm run on real processes and compared with the MPI library's own collective.

``kinds`` says what is sent and how it is combined, ``methods`` where it lies for each MPI call,
``cases`` which calls are made, ``session`` makes them on one rank, ``verdict`` combines ranks,
``explain`` tells a failure, ``report`` prints and ``watch`` ends a check that does not move on.
"""
