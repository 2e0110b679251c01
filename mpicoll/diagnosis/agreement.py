"""Do all ranks call the same collective? ``MPICOLL_CHECK=1`` and ``mpicoll run --check``.

Before a collective starts, its ranks compare what they call: name, number in order, root, count,
dtype, operation, algorithm; see `mpicoll.diagnosis.comparison`. If something differs, all of them
raise `mpicoll.MismatchError`. A started collective must not wait for others when it is called: it
compares, before its first message, while somebody waits or tests for it or the helper thread moves
it, and raises what is wrong to whoever waits.

A rank that waits longer than MPICOLL_CHECK_TIMEOUT seconds (60) raises an error that says who is
missing.
"""

from __future__ import annotations

import os
import time
from weakref import WeakKeyDictionary

from mpicoll.diagnosis.comparison import Comparison, Steps
from mpicoll.diagnosis.facts import agreed, pairwise
from mpicoll.diagnosis.mailbox import Mailbox
from mpicoll.diagnosis.states import END
from mpicoll.errors import MismatchError
from mpicoll.execution.event import Event, Where
from mpicoll.execution.observe import observe
from mpicoll.execution.progress import progress
from mpicoll.execution.state import State

__all__ = ["Agreement", "open_agreement"]

#: Looks for a message without a pause, and pauses after that: their shortest and their longest.
POLLS = 50
PAUSES = 2e-5, 1e-3


class Agreement:
    """The observer that compares calls; it must observe on all ranks."""

    def __init__(self, timeout: float | None = None) -> None:
        if timeout is None:
            timeout = float(os.environ.get("MPICOLL_CHECK_TIMEOUT", "60"))
        self.timeout = timeout
        self._mail: WeakKeyDictionary[State, Mailbox] = WeakKeyDictionary()

    def before(self, event: Event) -> None:
        """Compare with the other ranks; MismatchError on all of them if something differs."""
        # Starts of a persistent collective need no order; its making was compared.
        if event.state.size == 1 or event.form == "persistent":
            return
        comparison = Comparison(
            self._mailbox(event.state),
            event.state,
            event.number,
            event.method,
            agreed(event),
            lambda: event.where,
            None if event.form == "non-blocking" else self.timeout,
            pairwise(event),
        )
        if event.form == "non-blocking":
            event.where  # noqa: B018 - known only now
            event.gate = _Gate(comparison, self.timeout)
        else:
            _finish(comparison.steps())

    def after(self, event: Event, error: BaseException | None) -> None:
        """Nothing: what differs is seen before."""

    def end(self, state: State) -> None:
        """Let ranks that call another collective on `state` know that this one's program ends."""
        if state.size > 1:
            number = state.calls - state.spare_tags + 1
            place = Where("", 0, "")
            end = Comparison(self._mailbox(state), state, number, END, {}, lambda: place, None)
            _finish(end.steps())

    def _mailbox(self, state: State) -> Mailbox:
        mail = self._mail.get(state)
        if mail is None:
            mail = self._mail[state] = Mailbox(state)
        return mail


class _Gate:
    """What a started collective passes before its first message."""

    def __init__(self, comparison: Comparison, timeout: float) -> None:
        self._comparison, self._timeout = comparison, timeout
        self._steps = comparison.steps()

    def __call__(self, block: bool) -> bool:
        """Go on with the comparison, to its end if `block`; True when all agree."""
        if block:
            self._comparison.limit(self._timeout)
            _finish(self._steps, among_others=False)
            return True
        return next(self._steps, True) is True


def _finish(steps: Steps, among_others: bool = True) -> None:
    """Go on until the end; pending collectives are moved meanwhile if `among_others`."""
    try:
        for looks, _ in enumerate(steps):
            if among_others and progress.pending:
                progress.move()
            if looks > POLLS:
                time.sleep(min(PAUSES[0] * looks / POLLS, PAUSES[1]))
    except MismatchError as error:
        raise error.with_traceback(None) from None  # how it was found out is of no interest


def open_agreement() -> Agreement:
    """Compare all collectives of this process from now on."""
    agreement = Agreement()
    observe(agreement)
    return agreement
