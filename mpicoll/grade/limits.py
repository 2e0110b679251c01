"""What student code may not do to the machine, or to the grader.

Limits of the system for memory and files; an audit hook of Python, which cannot be removed, for
starting processes, opening connections, and writing outside the scratch directory. That is a fence
for mistakes and for simple tricks, not a jail: the verdict does not rest on it.
"""

from __future__ import annotations

import os
import resource
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Forbidden", "fence", "limit"]

#: Bytes of a file, standard output included.
LONGEST_FILE = 16 << 20

_REFUSED = {
    "os.fork": "start processes",
    "os.forkpty": "start processes",
    "os.exec": "start programs",
    "os.posix_spawn": "start programs",
    "os.spawn": "start programs",
    "os.system": "start programs",
    "subprocess.Popen": "start programs",
    "pty.spawn": "start programs",
    "socket.connect": "open connections",
    "socket.bind": "open connections",
    "os.kill": "send signals",
    "os.killpg": "send signals",
    "signal.pthread_kill": "send signals",
    "ctypes.dlopen": "load libraries",
    "ctypes.dlsym": "load libraries",
    "sys.addaudithook": "watch the grader",
    "sys.settrace": "watch the grader",
    "sys.setprofile": "watch the grader",
    "sys._current_frames": "watch the grader",
    "gc.get_objects": "watch the grader",
    "gc.get_referrers": "watch the grader",
    "resource.setrlimit": "change its limits",
}
_WRITES = frozenset(
    "os.remove os.rename os.rmdir os.mkdir os.link os.symlink os.truncate os.chmod os.chown".split()
)


class Forbidden(BaseException):
    """Student code did what it may not; no ``except Exception`` hides it."""


def limit(memory: int) -> None:
    """Limit this process to `memory` bytes beyond what it has, and files to `LONGEST_FILE`."""
    for name, most in ((resource.RLIMIT_AS, _mapped() + memory), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(name)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(name, (most, hard))
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (LONGEST_FILE, hard))


def _mapped() -> int:
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 8 << 30


@contextmanager
def _switched(switch: list[bool]) -> Iterator[None]:
    switch[0] = True
    try:
        yield
    finally:
        switch[0] = False


def fence(scratch: str, forbidden: Callable[[str], object]) -> Callable[[], Any]:
    """Give a context in which actions are refused; `forbidden(text)` is told what was tried."""
    switch = [False]
    inside = os.path.realpath(scratch) + os.sep
    main = threading.main_thread().ident
    flags = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    identity, realpath, refused, writes = threading.get_ident, os.path.realpath, _REFUSED, _WRITES
    watchdogs = {t.ident for t in threading.enumerate()} - {main}

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if not switch[0]:
            return
        if event in refused:
            what = refused[event]
        elif event == "open":
            path, mode, used = args
            writing = used & flags if isinstance(used, int) and used else "r" != (mode or "r")[:1]
            if not writing or isinstance(path, int) or path is None:
                return
            name = realpath(os.fsdecode(path))
            if name.startswith(inside) or name == "/dev/null":
                return
            what = f"write {name}"
        elif event in writes:
            if realpath(os.fsdecode(args[0])).startswith(inside):
                return
            what = "change files outside its directory"
        else:
            return
        if identity() in watchdogs:
            return
        forbidden(what)
        raise Forbidden(f"a submission may not {what}")

    sys.addaudithook(hook)
    return lambda: _switched(switch)
