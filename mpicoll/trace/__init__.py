"""Traces of real runs: recorded on the ranks, merged, checked against the plans, and shown.

On the ranks, ``hooks`` watches calls, ``executors`` run bound plans and record every message and
local step, ``store`` holds the records and ``clock`` compares the hosts' clocks. Afterwards, and
without MPI, ``files`` reads what the ranks wrote, ``merge`` joins it, ``contents`` adds what the
plans say about every chunk, and ``text``, ``chrome``, ``page``, ``figure`` and ``compare`` show it.
"""
