"""The ranks as the parent sees them: started, ordered, asked when they are silent, and ended."""

from __future__ import annotations

import os
import selectors
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mpicoll.grade import wire
from mpicoll.launch import LaunchError
from mpicoll.launch.supervise import Outcome, run

__all__ = ["Answers", "Job"]

#: How often silent ranks are asked, and how often they must say the same to count as stuck.
INTERVAL, TIMES = 0.4, 4
#: How long the others may go on once a rank has failed or is gone, if they are not seen to wait.
GRACE = 5.0

# Where no core is left over, waiting ranks of MPICH should sleep, not take turns.
CROWDED = {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}


@dataclass
class Answers:
    """What came of one order.

    `answers` by rank; `states`: what the ranks without an answer were doing in the end; `gone`:
    those that ended; `stuck`: no rank could go on; `late`: the deadline passed.
    """

    answers: dict[int, dict[str, Any]] = field(default_factory=dict)
    states: dict[int, dict[str, Any]] = field(default_factory=dict)
    gone: list[int] = field(default_factory=list)
    stuck: bool = False
    late: bool = False

    @property
    def complete(self) -> bool:
        """Whether every rank has answered."""
        return not self.states and not self.gone


class Job:
    """Ranks that wait for orders.

    Raises:
        LaunchError: they do not start within `patience` seconds.
    """

    def __init__(self, n: int, setup: dict[str, Any], patience: float = 90.0) -> None:
        self.n, self.number, self.asked, self.outcome = n, 0, 0, None
        self._directory = Path(tempfile.mkdtemp(prefix="mpicoll-grade-"))
        path = str(self._directory / "socket")
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(path)
        self._server.listen(2 * n)
        self._links: dict[tuple[int, str], socket.socket] = {}
        self.pids: dict[int, int] = {}
        self.library = ""
        scratch = setup["scratch"]
        environment = CROWDED | {"TMPDIR": scratch, "PYTHONDONTWRITEBYTECODE": "1"}
        environment |= {"MPICOLL_GRADER": str(os.getpid()), "OMP_NUM_THREADS": "1"}
        environment |= {"OPENBLAS_NUM_THREADS": "1"}

        def supervise() -> None:
            argv = ["-m", "mpicoll.grade.rank", path]
            try:
                self.outcome = run(
                    n, argv, timeout=3600, env=environment, echo=False, directory=scratch
                )
            except BaseException as error:
                self.outcome = error

        self._thread = threading.Thread(target=supervise, daemon=True)
        self._thread.start()
        try:
            self._accept(patience)
            for rank in range(n):
                wire.send(self._links[rank, "cases"], setup)
        except BaseException:
            self.end(kill=True)
            raise

    def _accept(self, patience: float) -> None:
        deadline = time.monotonic() + patience
        self._server.settimeout(0.2)
        while len(self._links) < 2 * self.n:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                said = self.outcome
                text = said.report + said.output if isinstance(said, Outcome) else repr(said)
                raise LaunchError(f"the ranks did not start: {text.strip()[-1500:]}")
            try:
                link, _ = self._server.accept()
            except TimeoutError:
                continue
            link.settimeout(patience)
            hello = wire.receive(link)
            link.settimeout(None)
            self._links[int(hello["rank"]), hello["role"]] = link
            self.pids[int(hello["rank"])] = int(hello["pid"])
            self.library = hello["library"]
        # Nobody else may speak for a rank: student code has not been loaded yet.
        self._server.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def order(
        self,
        orders: list[dict[str, Any]],
        seconds: float,
        flows: Callable[[Answers], bool] = lambda answers: False,
    ) -> Answers:
        """Give rank i the i-th order and wait for the answers of these ranks.

        After `seconds`, or as soon as those who have not answered are stuck for good, or one of
        them is gone, their states are asked for. `flows` says whether a message is still on its way
        among the states.
        """
        self.number += 1
        found = Answers()
        waiting = set(range(len(orders)))
        for rank, order in enumerate(orders):
            try:
                wire.send(self._links[rank, "cases"], {**order, "number": self.number})
            except wire.Closed:
                found.gone.append(rank)
                waiting.discard(rank)
        end, ask, same, last = time.monotonic() + seconds, time.monotonic() + INTERVAL, 0, None
        with selectors.DefaultSelector() as selector:
            for rank in waiting:
                selector.register(self._links[rank, "cases"], selectors.EVENT_READ, rank)
            while waiting:
                now = time.monotonic()
                if now > end:
                    found.late = not found.gone and not found.stuck
                    break
                for key, _ in selector.select(min(0.05, max(0.0, end - now))):
                    self._take(key.data, found, end)
                    waiting.discard(key.data)
                    selector.unregister(key.fileobj)
                failed = any(answer.get("error") for answer in found.answers.values())
                if (found.gone or failed) and waiting and end > now + GRACE:
                    end, found.stuck = now + GRACE, True
                if waiting and now > ask:
                    ask = now + INTERVAL
                    states = self._ask(waiting, False)
                    blocked = all(state.get("current") for state in states.values())
                    said = {rank: state.get("clock") for rank, state in states.items()}
                    same = same + 1 if blocked and said == last else 0
                    last = said
                    if same >= TIMES:
                        found.states, same = self._ask(waiting, True), 0
                        if not flows(found):
                            found.stuck = True
                            return found
                        found.states = {}
        if waiting:
            found.states = self._ask(waiting, True)
        return found

    def _take(self, rank: int, found: Answers, end: float) -> None:
        link = self._links[rank, "cases"]
        link.settimeout(max(1.0, end - time.monotonic()))
        try:
            answer = wire.receive(link)
            if not isinstance(answer, dict) or answer.get("number") != self.number:
                raise ValueError("an answer that nobody asked for")
            found.answers[rank] = answer
        except (wire.Closed, ValueError):
            found.gone.append(rank)
        else:
            link.settimeout(None)

    def _ask(self, ranks: set[int], everything: bool) -> dict[int, dict[str, Any]]:
        """What ranks say that they are doing; {} from those that do not say."""
        states: dict[int, dict[str, Any]] = {rank: {} for rank in ranks}
        self.asked += 1
        for rank in ranks:
            link = self._links[rank, "asks"]
            link.settimeout(2.0)
            try:
                wire.send(link, {"number": self.asked, "everything": everything})
                state: Any = {}
                while state.get("number") != self.asked:  # an answer may have come too late
                    state = wire.receive(link)
                states[rank] = state
            except (wire.Closed, ValueError, AttributeError):
                pass
        return states

    def end(self, kill: bool = False) -> None:
        """End the ranks; return when none is left."""
        if not kill:
            for rank in range(self.n):
                try:
                    wire.send(self._links[rank, "cases"], {"do": "end"})
                except (wire.Closed, KeyError):
                    kill = True
            self._thread.join(0 if kill else 5.0)
        if self._thread.is_alive():
            for pid in self.pids.values():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        self._server.close()
        for link in self._links.values():
            link.close()
        self._thread.join(60.0)
        shutil.rmtree(self._directory, ignore_errors=True)
