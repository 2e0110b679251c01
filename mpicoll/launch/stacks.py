"""Python stacks as short answers to "where is this rank?"."""

from __future__ import annotations

import linecache
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mpicoll.launch.child import BOOTSTRAP

__all__ = ["Frame", "current_place", "describe", "group", "parse_dump", "ranks_text"]

PACKAGE = str(Path(__file__).parents[1]) + os.sep
#: What only leads to a program, or looks at it.
AROUND = tuple(str(Path(__file__).parents[1] / name) + os.sep for name in ("launch", "diagnosis"))
INSTALLED = tuple(
    sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")
)
HEADING = re.compile(r"^(Current )?[Tt]hread 0x([0-9a-f]+)")
FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.*)$')


@dataclass(frozen=True)
class Frame:
    """One line of a stack."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        name = os.path.relpath(self.file) if os.path.isabs(self.file) else self.file
        name = self.file if name.startswith("..") else name
        source = linecache.getline(self.file, self.line).strip()
        return f"{name}:{self.line} in {self.function}" + (f": {source}" if source else "")

    @property
    def internal(self) -> bool:
        """Whether the line belongs to Python, to installed packages or to the launching."""
        if self.file.startswith(PACKAGE):
            return self.file.startswith(AROUND) or self.file in BOOTSTRAP
        return self.file.startswith((*INSTALLED, "<frozen"))


def parse_dump(text: str, thread: int | None = None) -> list[Frame]:
    """Read the last stack that faulthandler wrote for ``thread``, innermost frame first.

    Without ``thread``, that of the thread which received the signal.
    """
    frames: list[Frame] = []
    ours = False
    for line in text.splitlines():
        if heading := HEADING.match(line):
            ours = heading[1] is not None if thread is None else int(heading[2], 16) == thread
            if ours:
                frames = []
        elif ours and (found := FRAME.match(line)):
            frames.append(Frame(found[1], int(found[2]), found[3]))
    return frames


def current_place(thread: int) -> str:
    """Say where a thread of this process is now."""
    frame = sys._current_frames().get(thread)
    stack = traceback.extract_stack(frame)[::-1]
    return describe([Frame(f.filename, f.lineno or 0, f.name) for f in stack])


def describe(frames: Iterable[Frame], depth: int = 3) -> str:
    """Name the innermost frames of the program itself, one a line; library frames are left out."""
    frames = list(frames)
    own = [frame for frame in frames if not frame.internal] or frames
    # How a call of ours came to wait there is of no interest to the program that called it.
    programs = [frame for frame in own[1:] if not frame.file.startswith(PACKAGE)]
    own = [own[0], *programs] if programs else own
    return "\n  called from ".join(map(str, own[:depth]))


def ranks_text(ranks: Iterable[int]) -> str:
    """Write ranks briefly: ``ranks 0-2, 5``."""
    runs: list[list[int]] = []
    for rank in sorted(ranks):
        if runs and rank == runs[-1][-1] + 1:
            runs[-1].append(rank)
        else:
            runs.append([rank])
    text = ", ".join(f"{r[0]}-{r[-1]}" if len(r) > 1 else f"{r[0]}" for r in runs)
    return f"ranks {text}" if sum(map(len, runs)) > 1 else f"rank {text}"


def group(texts: Mapping[int, str]) -> list[tuple[list[int], str]]:
    """Collect the ranks that say the same, in the order of their lowest rank."""
    groups: dict[str, list[int]] = {}
    for rank in sorted(texts):
        groups.setdefault(texts[rank], []).append(rank)
    return [(ranks, text) for text, ranks in groups.items()]
