"""Traces made from plans, as a run without any delay would leave them: for tests without MPI."""

from mpicoll.registry import find
from mpicoll.steps import Copy, Recv, Reduce, Send
from mpicoll.trace.clock import Reading
from mpicoll.trace.contents import contents_of
from mpicoll.trace.files import RankTrace
from mpicoll.trace.store import CALL, COPY, RECV, REDUCE, SEND, Record

BYTES = 8  # of every block
STEP = 1000  # nanoseconds of a step of the whole
KINDS = {Send: SEND, Recv: RECV, Copy: COPY, Reduce: REDUCE}


def made(collective, name, size, root=0, offsets=None, **parameters):
    """What each rank would have written; `offsets` are those of their clocks."""
    algorithm = find(collective, name)
    contents = contents_of(collective, name, size, root, tuple(sorted(parameters.items())))
    meetings = {}
    for meeting in contents.schedule.meetings:
        for end in ((meeting.source, meeting.sent), (meeting.peer, meeting.received)):
            meetings[end] = meeting.at
    blocks = contents.blocks
    entry = {
        "comm": 0,
        "collective": collective,
        "method": collective.title(),
        "form": "blocking",
        "algorithm": algorithm.name,
        "parameters": parameters,
        "root": root,
        "nbytes": blocks * BYTES,
        "dtype": "double",
        "op": "SUM" if algorithm.spec.reduces else "",
        "where": "program.py:1",
    }
    ranks = []
    for rank in range(size):
        offset = offsets[rank] if offsets else 0
        trace = RankTrace(rank, size, f"host{rank if offsets else 0}", "MPI", 1000, whole=True)
        trace.comms = [{"members": tuple(range(size)), "copy": 0}]
        trace.calls = [dict(entry)]
        trace.clock = [Reading(0, offset, 5)]
        end = 0
        for number, steps in enumerate(contents.plans[rank]):
            last = contents.schedule.ends[rank][number]
            for index, step in enumerate(steps):
                kind = KINDS[type(step)]
                at = meetings.get((rank, (number, index)), last)
                local = kind in (COPY, REDUCE)
                begin = at * STEP + (500 if local else 0) + STEP + offset
                begin = max(begin, end) if local else begin
                nbytes = len(step.chunk.blocks) * BYTES if kind in (SEND, RECV) else 0
                peer, tag = (step.peer, 2) if kind in (SEND, RECV) else (-1, -1)
                end = begin + (1 if local else 400)
                trace.records.append(Record(begin, end, nbytes, 0, kind, number, index, peer, tag))
        parts = len(trace.records)
        trace.records.append(Record(offset, max(end, offset + 1), 1, 0, CALL, 0, 0, parts, 2))
        ranks.append(trace)
    return ranks
