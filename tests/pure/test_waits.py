"""What is said about ranks that wait for each other; without MPI."""

import json

import pytest

from mpicoll.diagnosis.circles import circles
from mpicoll.diagnosis.waits import Collective, Message, Place, RankState, explain

LINE = Place("/home/me/program.py", 12, "exchange", "comm.Send(a, right)")


def send(peer, tag=0, **more):
    return Message("send", peer, tag, **more)


def recv(peer, tag=0, **more):
    return Message("recv", peer, tag, **more)


def blocked(rank, *waits, **more):
    return RankState(rank, "blocked", waits=waits, **more)


def coll(name, number, size=3, **arguments):
    return Collective(name, number, tuple(range(size)), arguments=arguments)


def inside(rank, call, *before):
    return blocked(rank, call, history=(*before, call))


def kinds(report):
    return [finding.kind for finding in report.findings]


@pytest.mark.parametrize("size", [1, 2, 3, 40])
def test_everybody_sends_first(size):
    states = [blocked(r, send((r + 1) % size, nbytes=8_000_000)) for r in range(size)]
    report = explain(states)
    assert kinds(report) == ["circle"] and report.stuck == tuple(range(size))
    assert report.findings[0].ranks == tuple(range(size))
    text = report.text()
    if size == 1:
        assert "rank 0 waits for itself" in text
    else:
        assert f"{size} ranks wait for each other in a circle, 0 -> 1" in text
        assert "8 MB" in text and "send before they receive" in text
    assert len(text.splitlines()) < 13


def test_everybody_receives_first():
    report = explain([blocked(0, recv(1)), blocked(1, recv(0))])
    assert "0 -> 1 -> 0" in report.text() and "receive before they send" in report.text()


def test_a_chain_ends_at_the_cause():
    """2 waits for 1, 1 for 0, and 0 is gone: only one sentence is about the cause."""
    states = [RankState(0, "finished"), blocked(1, recv(0, 4)), blocked(2, recv(1, 4))]
    report = explain(states)
    assert kinds(report) == ["ended"] and report.stuck == (1, 2)
    assert "rank 1 waits in Recv from rank 0 (tag 4), but rank 0 has finished" in report.text()


def test_a_wrong_tag():
    states = [
        RankState(0, "finished", unreceived=(send(1, 1, nbytes=80, where=LINE),)),
        blocked(1, recv(0, 2)),
    ]
    text = explain(states).text()
    assert "rank 1 waits in Recv from rank 0 (tag 2), but rank 0 sent tag 1, not 2" in text
    assert "program.py:12 in exchange: comm.Send(a, right)" in text


def test_a_wrong_tag_of_long_messages():
    report = explain([blocked(0, send(1, 1)), blocked(1, recv(0, 2))])
    assert kinds(report) == ["circle", "message"]
    assert "but rank 0 sends tag 1, not 2" in report.text()


def test_a_wrong_source():
    states = [
        RankState(0, "finished"),
        RankState(1, "finished", unreceived=(send(2, 5),)),
        blocked(2, recv(0, 5)),
    ]
    assert "but it is rank 1 that sent it one with this tag" in explain(states).text()


def test_a_wrong_target():
    states = [
        RankState(0, "finished", unreceived=(send(1, 5),)),
        RankState(1, "finished"),
        blocked(2, recv(0, 5)),
    ]
    assert "but rank 0 sent this to rank 1" in explain(states).text()


def test_another_communicator():
    states = [
        RankState(0, "finished", unreceived=(send(1, 5, communicator="rows"),)),
        blocked(1, recv(0, 5)),
    ]
    assert "on COMM_WORLD, but rank 0 sent on rows" in explain(states).text()


def test_what_nobody_received():
    states = [RankState(0, "finished", unreceived=(send(1, 5),)), RankState(1, "finished")]
    report = explain(states)
    assert report.stuck == () and "rank 0 has sent what nobody received" in report.text()


def test_messages_that_meet_are_no_fault():
    report = explain([blocked(0, send(1)), blocked(1, recv(0))])
    assert report.findings == [] and report.stuck == ()
    # Posted without waiting for it.
    report = explain([blocked(0, send(1)), RankState(1, "running", started=(recv(0),))])
    assert report.findings == []


def test_each_send_meets_one_receive():
    states = [blocked(0, recv(1), recv(1)), RankState(1, "finished", unreceived=(send(0),))]
    report = explain(states)
    assert report.stuck == (0,) and kinds(report) == ["ended"]


def test_one_of_several_is_enough():
    waits = recv(1), recv(2)
    states = [RankState(1, "finished"), RankState(2, "running", "program.py:3")]
    assert explain([blocked(0, *waits), *states]).stuck == (0,)
    report = explain([blocked(0, *waits, any_suffices=True), *states])
    assert report.stuck == ()


def test_any_source():
    states = [blocked(0, recv(None)), RankState(1, "finished"), RankState(2, "finished")]
    assert "all other ranks have ended" in explain(states).text()
    assert explain([*states[:2], RankState(2, "running")]).stuck == ()
    assert explain([blocked(0, recv(None)), blocked(1, recv(None))]).stuck == (0, 1)


def test_no_such_rank():
    assert "there is no rank 5" in explain([blocked(0, recv(5))]).text()


def test_waiting_for_one_that_computes():
    states = [blocked(0, recv(2)), blocked(1, recv(2)), RankState(2, "running", "program.py:7")]
    report = explain(states)
    assert report.stuck == () and kinds(report) == ["outside"]
    assert "ranks 0-1 wait for rank 2, which is not inside MPI: it is at program.py:7" in (
        report.text()
    )


def test_only_some_call_a_collective():
    barrier, bcast = coll("Barrier", 3), coll("Bcast", 2, root="0")
    states = [
        inside(0, barrier, bcast),
        inside(1, barrier, bcast),
        RankState(2, "finished", history=(bcast,)),
    ]
    report = explain(states)
    assert kinds(report) == ["missing"] and report.findings[0].ranks == (2,)
    assert report.stuck == (0, 1)
    assert "rank 2 has not called Barrier(), collective 3" in report.text()
    assert "the last one there was Bcast(root 0), collective 2" in report.text()


def test_a_rank_past_the_collective_is_not_missing():
    """The root of a broadcast goes on as soon as it has sent."""
    bcast = coll("Bcast", 1, 2)
    report = explain([inside(0, coll("Barrier", 2, 2), bcast), inside(1, bcast)])
    assert [finding.ranks for finding in report.findings] == [(1,)]
    assert "Barrier(), collective 2" in report.text()


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (coll("Bcast", 1), coll("Reduce", 1), "different collectives, collective 1"),
        (coll("Bcast", 1, root="0"), coll("Bcast", 1, root="2"), "different roots in Bcast"),
        (coll("Reduce", 1, count="4"), coll("Reduce", 1, count="5"), "different counts in Reduce"),
        (
            coll("Scan", 1, dtype="int32", op="SUM"),
            coll("Scan", 1, dtype="int64", op="MAX"),
            "different dtypes and ops in Scan",
        ),
    ],
)
def test_calls_that_differ(one, other, said):
    report = explain([inside(0, one), inside(1, other), inside(2, one)])
    assert kinds(report) == ["collectives"], report.text()
    assert said in report.text() and report.stuck == (0, 1, 2)
    lines = report.text().splitlines()
    assert lines[1].startswith("  ranks 0, 2 call") and lines[2].startswith("  rank 1 calls")


def test_only_the_first_difference_is_told():
    history = [[coll("Bcast", 1), coll("Reduce", 2)], [coll("Reduce", 1), coll("Bcast", 2)]]
    states = [RankState(rank, "finished", history=tuple(h)) for rank, h in enumerate(history)]
    report = explain(states)
    assert len(report.findings) == 1 and "collective 1 on COMM_WORLD" in report.text()


def test_facts_that_one_rank_lacks_are_not_compared():
    one, other = coll("Gather", 1, root="0", count="3"), coll("Gather", 1, root="0")
    assert (
        explain(
            [
                inside(
                    0,
                    one,
                ),
                inside(1, other),
                inside(2, other),
            ]
        ).findings
        == []
    )


def test_a_collective_and_a_message():
    """One rank waits in a barrier for one that waits for a message from it."""
    report = explain([inside(0, coll("Barrier", 1, 2)), blocked(1, recv(0, 3))])
    assert kinds(report) == ["missing", "circle"] and report.stuck == (0, 1)
    assert "in Recv from rank 0 (tag 3)" in report.text()


def test_json():
    report = explain([blocked(0, recv(1)), blocked(1, recv(0))])
    assert json.loads(json.dumps(report.as_dict()))["findings"][0]["kind"] == "circle"


def test_circles_are_shortest_and_apart():
    graph = {0: {1}, 1: {2}, 2: {3, 0}, 3: {1}, 4: {5}, 5: {4}, 6: {0}}
    assert circles(graph) == [[0, 1, 2], [4, 5]]
    long_and_short = {0: {1, 3}, 1: {2}, 2: {0}, 3: {0}}
    assert circles(long_and_short) == [[0, 3]]
