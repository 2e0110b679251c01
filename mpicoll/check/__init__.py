"""Every algorithm run on real processes and compared with the MPI library's own collective.

``kinds`` (of ``elements`` and ``operations``) says what is sent and how it is combined, ``methods``
and ``layouts`` where it lies for each MPI call, ``cases`` which calls are made and ``forms`` in
which forms. ``session`` makes them on one rank, ``compare`` looks at what they did, ``verdict``
combines ranks, ``explain`` tells a failure, ``ranks`` is what each rank runs, ``report`` what it
prints, and ``watch`` ends a check that does not move on.
"""
