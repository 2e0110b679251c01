"""Stacks as text."""

import threading

from mpicoll.launch.child import BOOTSTRAP
from mpicoll.launch.stacks import (
    PACKAGE,
    Frame,
    current_place,
    describe,
    group,
    parse_dump,
    ranks_text,
)

DUMP = """\
Thread 0x00000000000000aa (most recent call first):
  File "/x/helper.py", line 1 in poll
Current thread 0x00000000000000bb (most recent call first):
  File "/x/prog ram.py", line 12 in <module>

Thread 0x00000000000000aa (most recent call first):
  File "/x/helper.py", line 2 in poll
Current thread 0x00000000000000bb [python] (most recent call first):
  File "/x/prog ram.py", line 20 in wait
  File "/x/prog ram.py", line 13 in <module>
"""


def test_last_dump_of_the_thread_counts():
    expected = [Frame("/x/prog ram.py", 20, "wait"), Frame("/x/prog ram.py", 13, "<module>")]
    assert parse_dump(DUMP, 0xBB) == expected
    assert parse_dump(DUMP) == expected
    assert parse_dump(DUMP, 0xAA) == [Frame("/x/helper.py", 2, "poll")]


def test_library_frames_are_left_out_unless_there_are_no_others():
    library = Frame(threading.__file__, 1, "wait")
    own = Frame("/x/p.py", 3, "main")
    assert describe([library, own]) == "/x/p.py:3 in main"
    assert describe([library]).startswith(f"{threading.__file__}:1 in wait")


def test_of_our_own_frames_the_innermost_is_enough_for_a_program():
    ours = [Frame(f"{PACKAGE}execution/{name}.py", 1, "run") for name in ("a", "b", "c")]
    program = Frame("/x/p.py", 3, "main")
    assert describe([*ours, program], depth=2).endswith(
        "a.py:1 in run\n  called from /x/p.py:3 in main"
    )
    assert describe(ours).count("called from") == 2
    assert describe([*ours, program, Frame(BOOTSTRAP[1], 1, "main")]).endswith("in main")


def test_current_place_is_this_line():
    assert "test_current_place_is_this_line: assert" in current_place(threading.get_ident())


def test_ranks_text():
    assert ranks_text([3]) == "rank 3"
    assert ranks_text([5, 0, 2, 1]) == "ranks 0-2, 5"


def test_group():
    assert group({2: "a", 0: "b", 1: "a"}) == [([0], "b"), ([1, 2], "a")]
