"""What every rank starts in: ``python -m mpicoll.launch.child [--report DIR] -- script.py ...``.

A rank that raises or exits non-zero must end the others, which may be waiting for it. Under
``mpicoll.launch.supervise`` (``--report``) the rank writes down what happened and the parent ends
the job; without a parent, MPI's Abort does. ``guard`` protects a program that is already running.

Only the standard library is imported, and this file also runs by its path: user programs start
in it, so it must cost them little and need no package of ours.
"""

from __future__ import annotations

import faulthandler
import json
import os
import runpy
import signal
import sys
import threading
import time
import traceback
from types import TracebackType

# rank variable: (size variable, who sets them)
RANK_VARIABLES = {
    "OMPI_COMM_WORLD_RANK": ("OMPI_COMM_WORLD_SIZE", "mpiexec"),
    "PMI_RANK": ("PMI_SIZE", "mpiexec"),
    "SLURM_PROCID": ("SLURM_STEP_NUM_TASKS", "srun"),
    "PMIX_RANK": ("PMIX_SIZE", "mpiexec"),
}

# How long a failed rank waits for its parent to end the job before it ends the job itself.
PATIENCE = 10.0
# The file by which a parent asks ranks on other hosts where they are.
ASK = "ask"
TIMEOUT_STATUS = 124

# The files that a program's stack begins in.
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BOOTSTRAP = tuple(
    os.path.join(_PACKAGE, *names)
    for names in (
        ("launch", "child.py"),
        ("__main__.py",),
        ("commands", "run.py"),
        ("running", "program.py"),
    )
)


def launched_rank() -> int | None:
    """Return this process's rank as its launcher named it, or None."""
    for name in RANK_VARIABLES:
        if name in os.environ:
            return int(os.environ[name])
    return None


def has_parent() -> bool:
    """Whether ``mpicoll.launch.supervise`` watches this rank."""
    return "MPICOLL_REPORT" in os.environ


def abort(code: int) -> None:
    """End all ranks if MPI is running with several of them; otherwise return."""
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not mpi.Is_initialized() or mpi.Is_finalized():
        return
    if mpi.COMM_WORLD.Get_size() > 1:
        sys.stdout.flush()
        sys.stderr.flush()
        mpi.COMM_WORLD.Abort(code)


def program_traceback(error: BaseException, tb: TracebackType | None) -> str:
    """Format a traceback without the frames of the bootstrap that leads to the program."""
    internal = (*BOOTSTRAP, runpy.__file__, "<frozen runpy>")
    while tb is not None and tb.tb_frame.f_code.co_filename in internal:
        tb = tb.tb_next
    return "".join(traceback.format_exception(type(error), error, tb))


class _Report:
    """This rank's files in the parent's directory."""

    def __init__(self, directory: str, rank: int, own_output: bool) -> None:
        self._base = os.path.join(directory, f"rank-{rank}")
        if own_output:
            output = os.open(self._base + ".out", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(output, 1)
            os.dup2(output, 2)
        # faulthandler writes from a signal handler in C, so it works inside a blocked MPI call.
        self._stack = open(self._base + ".stack", "w")
        self._fatal = open(self._base + ".fatal", "w")
        faulthandler.register(signal.SIGUSR1, file=self._stack, all_threads=True)
        faulthandler.enable(file=self._fatal, all_threads=True)
        self._facts = {
            "pid": os.getpid(),
            "thread": threading.main_thread().ident,
            "host": os.uname().nodename,
        }
        self.write("running")

    def write(self, state: str, code: int = 0, message: str = "", text: str = "") -> None:
        facts = self._facts | {
            "state": state,
            "time": time.time(),
            "code": code,
            "message": message,
            "traceback": text,
        }
        with open(self._base + ".new", "w") as file:
            json.dump(facts, file)
        os.replace(self._base + ".new", self._base + ".json")


def _end_with(parent: int) -> None:
    """Die soon after the parent did, killed without a chance to end its ranks."""
    while True:
        time.sleep(1)
        try:
            os.kill(parent, 0)
        except ProcessLookupError:
            os.kill(os.getpid(), signal.SIGKILL)


def _obey(directory: str) -> None:
    """On another host than the parent: give the stack when asked for it, die with the directory."""
    asked = False
    while True:
        time.sleep(0.5)
        if not os.path.isdir(directory):
            os.kill(os.getpid(), signal.SIGKILL)
        if not asked and os.path.exists(os.path.join(directory, ASK)):
            asked = True
            os.kill(os.getpid(), signal.SIGUSR1)


def run_program(program: list[str]) -> None:
    """Run ``[script.py, ...]`` or ``["-m", module, ...]`` as Python itself would."""
    if program[0] == "-m":
        sys.argv = program[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(program[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = program
        sys.path[0] = os.path.dirname(os.path.realpath(program[0]))
        runpy.run_path(program[0], run_name="__main__")


def exit_code(error: SystemExit) -> int:
    """The exit status that `error` asks for; its message, if it is one, is printed."""
    if error.code is None or isinstance(error.code, int):
        return error.code or 0
    print(error.code, file=sys.stderr)
    return 1


def main() -> None:
    """Run ``[options] -- (script.py | -m module) args``.

    Options: ``--report DIR`` for a parent, ``--parent HOST:PID`` to end with it,
    ``--limit SECONDS`` to end at the latest, ``--all-output`` to let ranks above 0 print at once.
    Where a rank cannot see the parent's directory, as on another host, it has no parent.
    """
    split = sys.argv.index("--")
    options, program = sys.argv[1:split], sys.argv[split + 1 :]
    directory = options[options.index("--report") + 1] if "--report" in options else None
    if directory and not os.path.isdir(directory):
        os.environ.pop("MPICOLL_REPORT", None)
        os.environ["MPICOLL_APART"] = "1"
        directory = None
    rank = launched_rank()
    if rank is None and directory:
        from mpi4py import MPI

        rank = MPI.COMM_WORLD.Get_rank()
    report = None
    if directory:
        os.environ["MPICOLL_REPORT"] = directory
        report = _Report(directory, rank or 0, bool(rank) and "--all-output" not in options)
    if "--parent" in options and directory:
        host, _, parent = options[options.index("--parent") + 1].rpartition(":")
        near = host == os.uname().nodename
        watch = (_end_with, (int(parent),)) if near else (_obey, (directory,))
        threading.Thread(target=watch[0], args=watch[1], daemon=True).start()
    if "--limit" in options:
        # The last resort, for ranks in which the thread above cannot run.
        limit = float(options[options.index("--limit") + 1])
        faulthandler.dump_traceback_later(limit, exit=True, file=sys.__stderr__)
    sys.stdout.reconfigure(line_buffering=True)  # a killed rank must not take its lines along
    try:
        run_program(program)
    except SystemExit as error:
        code = exit_code(error)
        if code and report:
            text = program_traceback(error, error.__traceback__)
            report.write("exited", code, f"sys.exit({code})", text)
        elif code:
            abort(code)
        elif report:
            report.write("finished")
        # With a parent, not aborted: when all ranks exit alike this is their common verdict, and
        # the parent has it, so that the launcher need not complain about it too.
        sys.exit(0 if report else code)
    except BaseException as error:
        text = program_traceback(error, error.__traceback__)
        if report is None:
            print(f"rank {rank or 0}:\n{text}", end="", file=sys.stderr)
        else:
            message = "".join(traceback.format_exception_only(error)).strip()
            report.write("failed", 1, message, text)
            sys.stdout.flush()
            time.sleep(PATIENCE)
        abort(1)
        sys.exit(1)
    if report:
        report.write("finished")


class guard:
    """Protect a program that the user started under mpiexec: deadline and uncaught exceptions.

    From its creation to ``cancel`` (or the end of its ``with`` block), an uncaught exception
    prints its traceback and ends all ranks; after ``timeout`` seconds every rank says in a
    sentence where it is and the job ends with status 124. Under ``supervise`` it does nothing,
    since the parent already watches.
    """

    def __init__(self, timeout: float) -> None:
        self._cancelled = threading.Event()
        self._hook = sys.excepthook
        self._active = not has_parent()
        if self._active:
            self._timeout = timeout
            sys.excepthook = self._uncaught
            threading.Thread(target=self._watch, name="mpicoll-guard", daemon=True).start()
            # Should the main thread hold the interpreter's lock, the thread above cannot run.
            faulthandler.dump_traceback_later(timeout + 10, exit=True, file=sys.__stderr__)

    def cancel(self) -> None:
        """End the protection."""
        if self._active:
            self._cancelled.set()
            faulthandler.cancel_dump_traceback_later()
            sys.excepthook = self._hook

    def __enter__(self) -> guard:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        # An exception on its way out still needs the hook.
        if kind is None:
            self.cancel()

    def _uncaught(self, kind: type, error: BaseException, tb: TracebackType | None) -> None:
        print(f"rank {launched_rank() or 0}:", file=sys.stderr)
        self._hook(kind, error, tb)
        abort(1)

    def _watch(self) -> None:
        if self._cancelled.wait(self._timeout):
            return
        from mpicoll.launch.stacks import current_place

        place = current_place(threading.main_thread().ident)
        print(
            f"mpicoll: no end after {self._timeout:g} s: rank {launched_rank() or 0} is at {place}",
            file=sys.__stderr__,
            flush=True,
        )
        # Every rank's deadline falls at about the same time: let all of them speak.
        time.sleep(1)
        abort(TIMEOUT_STATUS)
        os._exit(TIMEOUT_STATUS)


if __name__ == "__main__":
    main()
