"""Grading: a student's function run on real ranks, judged by the parent, and explained.

``exercise`` says what is demanded; ``standard`` has three exercises of its own, `mpicoll.learn` the
course's. What runs on the ranks sits in ``rank``; the parent decides from data (``session``,
``judge``, ``explain``) and writes ``report`` and ``formats``.
"""
