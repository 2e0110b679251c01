"""Traces without MPI: the ring buffer, files, clocks, merging, and that wrong runs are found."""

import json
from itertools import pairwise

import pytest
from made import made
from reference import ROWS

from mpicoll.registry import algorithms_of, collectives
from mpicoll.trace.chrome import chrome_events
from mpicoll.trace.clock import Reading, correction
from mpicoll.trace.contents import COMPLETE, contents_of
from mpicoll.trace.files import RankTrace, TraceError, read_directory, read_rank, write_rank
from mpicoll.trace.merge import merge
from mpicoll.trace.path import critical_path, exchanges
from mpicoll.trace.store import KINDS, Store
from mpicoll.trace.text import call_text, rows, summary

EVERY = [each for name in collectives() for each in algorithms_of(name)]


def merged(collective="allreduce", name="ring", size=4, **more):
    trace = merge(made(collective, name, size, **more))
    assert len(trace.calls) == 1
    return trace, trace.calls[0]


def test_a_full_store_keeps_the_newest_and_counts_the_others():
    store = Store(4)
    for number in range(10):
        store.add(1, number, number + 1, nbytes=1 << 40)
    assert [record.begin for record in store.records()] == [6, 7, 8, 9]
    assert (store.written, store.dropped) == (10, 6)
    assert all(record.nbytes == 1 << 40 for record in store.records())


def test_what_is_written_is_read(tmp_path):
    store = Store(10)
    entry = store.entry(0, "bcast", "Bcast", "blocking", "linear", (("a", 1),), 0, 8, "", "", "x:1")
    store.add(0, 5000, 6000, 3, entry, 0, 0, 2, 1)
    store.add(1, 5100, 5200, 3, 0, 0, 1, 2, 8)
    facts = RankTrace(1, 2, "host", "MPI", 10)
    facts.comms = [{"members": (0, 1), "copy": 0}]
    facts.clock = [Reading(1, 2, 3)]
    write_rank(tmp_path / "rank-1.jsonl", facts, store)
    back = read_rank(tmp_path / "rank-1.jsonl")
    assert back.records == list(store.records())
    assert (back.comms, back.clock, back.whole) == (facts.comms, facts.clock, True)
    assert back.calls[0]["parameters"] == {"a": 1}
    with pytest.raises(TraceError, match="rank 0 of 2 has left no file"):
        read_directory(tmp_path)


HEAD = {"format": "mpicoll trace", "version": 1, "rank": 0, "size": 1, "host": "h"}
HEAD |= {"library": "MPI", "capacity": 9}


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ([], "is not a trace"),
        (["nonsense"], "line 1: not JSON"),
        ([{"format": "other"}], "is not a trace"),
        ([HEAD | {"version": 2}], "version 2, not 1"),
        ([HEAD | {"rank": "0"}], "expected an integer, not '0'"),
        ([HEAD, [1, 2, 3]], "line 2: not a record"),
        ([HEAD, [0, -1, 0, 0, 0, 0, 0, 0, 0]], "ends before it begins"),
        ([HEAD, [0, 1, 0, 0, len(KINDS), 0, 0, 0, 0]], "no known kind"),
        ([HEAD, [0, 1.5, 0, 0, 0, 0, 0, 0, 0]], "nine integers"),
        ([HEAD, {"comm": {"members": [0, 1], "copy": 0}}], "ranks that there are not"),
        ([HEAD, {"call": {}}], "line 2: 'comm'"),
        ([HEAD, {"surprise": 1}], "nothing that a trace has"),
        ([HEAD, 7], "neither an object nor a record"),
        ([HEAD, "[" * 100_000], "not JSON"),
        ([HEAD, "[" + " " * (1 << 20) + "]"], "line 2: too long"),
    ],
)
def test_files_that_are_none(tmp_path, lines, reason):
    path = tmp_path / "rank-0.jsonl"
    path.write_text("".join(f"{x if isinstance(x, str) else json.dumps(x)}\n" for x in lines))
    with pytest.raises(TraceError, match=reason):
        read_rank(path)


def test_a_file_that_breaks_off_is_said_to(tmp_path):
    path = tmp_path / "rank-0.jsonl"
    path.write_text(json.dumps(HEAD) + "\n")
    assert "has not written all" in merge([read_rank(path)]).problems[0]


def test_clocks_are_corrected_and_their_drift_too():
    assert correction([Reading(100, 40, 1)])(100) == 60
    drifting = correction([Reading(0, 100, 1), Reading(1000, 200, 1)])
    assert (drifting(0), drifting(500), drifting(1000)) == (-100, 350, 800)


@pytest.mark.parametrize("size", (1, 2, 3, 4))
def test_every_algorithm_merges_without_a_problem(size):
    for algorithm in EVERY:
        if set(algorithm.unmet(size)) <= {"commutative"}:
            root = size - 1 if algorithm.spec.rooted else 0
            trace, call = merged(algorithm.collective, algorithm.name, size, root=root)
            assert call.whole and not trace.problems, algorithm
            contents = call.contents
            sends = sum("Send" in str(s) for plan in contents.plans for r in plan for s in r)
            assert len(call.messages) == len(contents.schedule.meetings) == sends
            assert len(contents.phases) == contents.schedule.steps == len(rows(call))
            for rank in range(size):
                final = contents.rows(rank)[-1]
                for block in contents.after(rank):
                    assert contents.state(rank, block, final[block], True) == COMPLETE
            for style in ("table", "grid"):
                assert call.title in call_text(call, style)


def test_rows_of_the_reference():
    _, call = merged()
    found = rows(call)
    assert [(number, rank, found[number][rank]) for number, rank, _ in ROWS] == ROWS


def test_phases_are_those_of_the_text():
    text = call_text(merged()[1])
    assert "phase 1: ring_reduce_scatter\n  step 1\n" in text
    assert "phase 2: ring_allgather\n  step 1\n" in text


def test_messages_of_a_tree_stand_in_the_step_in_which_they_travel():
    contents = contents_of("bcast", "binomial", 4, 0, ())
    travels = [(m.source, m.peer, m.at) for m in contents.schedule.meetings]
    assert travels == [(0, 2, 0), (0, 1, 1), (2, 3, 1)]


def test_clock_offsets_vanish():
    plain, other = merged()[1], merged(offsets=[0, 10**9, -(10**9), 7])[1]
    assert [m[:-3] for m in plain.messages] == [m[:-3] for m in other.messages]
    assert plain.spans == other.spans


def altered(change, collective="allreduce", name="ring", size=4):
    ranks = made(collective, name, size)
    change(ranks)
    return merge(ranks)


def replace(rank, number, **fields):
    def change(ranks):
        ranks[rank].records[number] = ranks[rank].records[number]._replace(**fields)

    return change


def lose(rank, number):
    def change(ranks):
        del ranks[rank].records[number]
        last = ranks[rank].records[-1]
        ranks[rank].records[-1] = last._replace(peer=last.peer - 1)

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (replace(0, 0, peer=2), "rank 0, round 1: it did not send to rank 1"),
        (replace(0, 0, peer=2), "rank 0, round 1: it was not to send to rank 2"),
        (lose(0, 0), "rank 0 sent 5 messages to rank 1, which received 6"),
        (lose(1, 1), "rank 1, round 1: it did not receive from rank 0"),
        (
            replace(2, 1, nbytes=7),
            "rank 1 sent 8 bytes with tag 2 in its round 1, rank 2 received 7",
        ),
        (replace(2, 1, tag=9), "received 8 with tag 9"),
        (replace(3, 4, begin=0), "rank 3: round 2 began before round 1 had ended"),
        (replace(3, -2, kind=KINDS.index("reduce")), "it was not to combine anything"),
    ],
)
def test_a_run_that_is_not_the_plan_is_found(change, problem):
    assert any(problem in found for found in altered(change).problems), altered(change).problems


def test_a_message_of_another_size_is_found_even_if_both_ends_agree():
    def change(ranks):
        replace(0, 0, nbytes=16)(ranks)
        replace(1, 1, nbytes=16)(ranks)

    assert any("other messages with the same blocks" in p for p in altered(change).problems)


def test_ranks_that_disagree_are_found():
    def change(ranks):
        ranks[2].calls[0]["root"] = 3

    assert any("rank 2 has root 3, another 0" in p for p in altered(change).problems)


def test_a_wrong_algorithm_is_found():
    def change(ranks):
        for rank in ranks:
            rank.calls[0]["algorithm"] = "recursive_doubling"

    assert altered(change).problems


def test_calls_without_all_their_records_are_cut():
    def change(ranks):
        del ranks[1].records[0]

    trace = altered(change)
    assert not trace.calls[0].whole and not trace.problems
    assert trace.calls[0].collective in summary(trace)


def late(ranks):
    """Rank 0 enters late by one step: everybody else waits for what it sends first."""
    for number, record in enumerate(ranks[0].records[:-1]):
        if record.round == 0 and KINDS[record.kind] in ("send", "recv"):
            ranks[0].records[number] = record._replace(begin=record.begin + 300)


def test_waiting_is_that_for_the_other_end():
    call = altered(late).calls[0]
    first = {rank: own[0] for rank, own in exchanges(call).items()}
    assert first[1].late - first[1].posted == 300 and first[1].cause == 0
    assert first[2].late == first[2].posted


def test_the_critical_path_has_no_gap_and_goes_where_the_delay_was():
    def change(ranks):
        late(ranks)
        last = ranks[1].records[-1]
        replace(1, -1, end=last.end + 50)(ranks)

    call = altered(change).calls[0]
    path = critical_path(call)
    assert path[-1].end == call.end
    assert all(one.end == other.begin for one, other in pairwise(path))
    assert any(segment.kind == "message" and segment.rank == 0 for segment in path)


def nested(slices):
    """True if of two slices that overlap one lies within the other."""
    open_ = []
    for begin, end in sorted(slices, key=lambda pair: (pair[0], -pair[1])):
        while open_ and open_[-1] <= begin:
            open_.pop()
        if open_ and end > open_[-1] + 1e-6:
            return False
        open_.append(end)
    return True


@pytest.mark.parametrize("name", ("ring", "recursive_doubling", "allgather_reduce"))
def test_trace_events_nest_and_every_arrow_has_both_ends_in_a_slice(name):
    trace = merge(made("allreduce", name, 4))
    events = json.loads(json.dumps(chrome_events(trace)))["traceEvents"]
    tracks = {}
    for event in events:
        if event["ph"] == "X":
            span = (event["ts"], event["ts"] + event["dur"])
            tracks.setdefault((event["pid"], event["tid"]), []).append(span)
    assert all(map(nested, tracks.values()))
    flows = {phase: [e for e in events if e["ph"] == phase] for phase in "sf"}
    ids = [sorted(event["id"] for event in flows[phase]) for phase in "sf"]
    assert ids[0] == ids[1] == list(range(len(trace.calls[0].messages)))
    for event in flows["s"] + flows["f"]:
        spans = tracks[event["pid"], event["tid"]]
        assert any(begin <= event["ts"] <= end for begin, end in spans)
    names = {e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names == {f"rank {rank} (host0)" for rank in range(4)}


def test_figures(tmp_path):
    pytest.importorskip("matplotlib")
    from mpicoll.trace.figure import draw

    calls = [merge(made("allreduce", name, 4)).calls[0] for name in ("ring", "reduce_bcast")]
    for path in (tmp_path / "one.svg", tmp_path / "one.png"):
        draw(str(path), calls[:1])
        assert path.stat().st_size > 1000
    draw(str(tmp_path / "two.svg"), calls)
    text = (tmp_path / "two.svg").read_text()
    assert calls[0].title in text and calls[1].title in text and "critical path" in text


def test_the_test_of_nesting_can_fail():
    assert nested([(0, 4), (1, 2), (2, 4)]) and not nested([(0, 4), (3, 5)])
