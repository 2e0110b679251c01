"""Finding and ending every process of a job, wherever its launcher put it."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

__all__ = [
    "FirstEnd",
    "alive",
    "descendants",
    "end_tree",
    "files_in_use",
    "remove_orphaned_segments",
]

PROC = Path("/proc")
MEMORY = Path("/dev/shm")
# Segments of MPICH and Open MPI that outlive ranks which could not finalize.
SEGMENTS = ("mpich_shm_", "sm_segment.", "vader_segment.")


def _parent_and_state(pid: int) -> tuple[int, str] | None:
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The name in parentheses may itself hold spaces and parentheses.
    state, parent = text[text.rindex(")") + 2 :].split()[:2]
    return int(parent), state


def alive(pid: int) -> bool:
    """Whether a process exists and is not merely waiting to be reaped."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    facts = _parent_and_state(pid)
    return facts is None or facts[1] not in "ZX"


class FirstEnd:
    """Which of some processes, no children of this one, ended first; needs Linux.

    The kernel queues their ends in order, so that it does not matter when somebody looks.
    """

    def __init__(self) -> None:
        self._queue = select.epoll() if hasattr(os, "pidfd_open") else None
        self._files: dict[int, int] = {}
        self.first: int | None = None

    def watch(self, pid: int) -> None:
        """Look at a process from now on."""
        if self._queue is None or pid in self._files.values():
            return
        try:
            file = os.pidfd_open(pid)
        except OSError:  # it has ended already, or the kernel is too old
            return
        self._files[file] = pid
        self._queue.register(file, select.EPOLLIN)

    @property
    def files(self) -> list[int]:
        """What `select` is to wait for as well, until one has ended."""
        return [] if self._queue is None or self.first else [self._queue.fileno()]

    def look(self) -> None:
        """See whether one has ended."""
        if self.files:
            for file, _ in self._queue.poll(0, 1):
                self.first = self._files[file]

    def close(self) -> None:
        """Let the processes go."""
        for file in self._files:
            os.close(file)
        if self._queue is not None:
            self._queue.close()


def descendants(root: int, deep: bool = True) -> set[int]:
    """The processes that `root` has started, itself included; not `deep`: its children alone."""
    children: dict[int, list[int]] = {}
    for entry in PROC.glob("[0-9]*"):
        if facts := _parent_and_state(int(entry.name)):
            children.setdefault(facts[0], []).append(int(entry.name))
    if not deep:
        return set(children.get(root, []))
    found, queue = set(), [root]
    while queue:
        pid = queue.pop()
        found.add(pid)
        queue += children.get(pid, [])
    return found


def _marked(marker: str) -> set[int]:
    """Find the processes that were started with ``marker`` (``NAME=value``) in their environment.

    A launcher's helpers leave its session and are adopted by process 1 when it dies; their
    environment still tells whose they are.
    """
    needle, found = marker.encode(), set()
    for entry in PROC.glob("[0-9]*"):
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if needle in variables:
            found.add(int(entry.name))
    return found


def end_tree(root: subprocess.Popen, marker: str, pids: Iterable[int], patience: float) -> None:
    """End ``root``, all it started, everything marked, and ``pids``; return when none is left.

    The launcher is asked first, for up to ``patience`` seconds, since it removes its session
    directory and shared memory when it ends by itself; the rest is killed.

    Raises:
        RuntimeError: a process survives SIGKILL for ten seconds.
    """
    pids = set(pids)
    if root.poll() is None:
        pids |= descendants(root.pid)
        root.terminate()
        try:
            root.wait(patience)
        except subprocess.TimeoutExpired:
            root.kill()
    deadline = time.monotonic() + 10
    while left := {pid for pid in pids | _marked(marker) if alive(pid)}:
        if time.monotonic() > deadline:
            raise RuntimeError(f"processes {sorted(left)} survive SIGKILL")
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.02)
    root.wait()


def remove_orphaned_segments(since: float) -> None:
    """Remove MPI's shared memory files that ended ranks left behind and nobody can use any more.

    They take up memory until the machine restarts. Looked at are files of this user, made after
    ``since`` (as in ``time.time``), which no process has open or mapped: a job that is just
    starting always has one that does.
    """
    orphans = set()
    for path in MEMORY.glob("*"):
        facts = path.lstat()
        if path.name.startswith(SEGMENTS) and facts.st_uid == os.getuid():
            if facts.st_mtime >= since:
                orphans.add(str(path))
    if orphans:
        orphans -= files_in_use()
    for name in orphans:
        Path(name).unlink(missing_ok=True)


def files_in_use() -> set[str]:
    """Name the files that some process, as far as visible, has mapped or open."""
    used: set[str] = set()
    for entry in PROC.glob("[0-9]*"):
        try:
            maps = (entry / "maps").read_text(errors="replace")
            used.update(line[73:].strip() for line in maps.splitlines())
            used.update(os.readlink(file) for file in (entry / "fd").iterdir())
        except OSError:
            continue  # it ended meanwhile, or is another user's
    return used
