"""Plans performed on Python objects: memory is a list of values, messages are parcels.

An operation gets a value itself where nobody needs it any more, and otherwise a copy, so that it
may work in place: results, arguments and what has been sent never share memory.

Where a rank cannot make a value (an object that cannot be pickled, an operation that raises), the
account of the failure takes its place in the plan. The rank itself raises its own error at the end
of the call, those that should have got the value raise `PeerError`, and no rank is left waiting.
"""

from __future__ import annotations

from collections.abc import Callable

from mpicoll.errors import PeerError
from mpicoll.execution import native
from mpicoll.execution.parcels import exchange
from mpicoll.execution.script import CopySlot, Script
from mpicoll.execution.state import State
from mpicoll.execution.values import Made, Packed, Value, clone, cut, failure, join, pack, unpack

__all__ = ["Job"]


class Job:
    """One call on one rank: the memory of a script, and what went wrong here."""

    def __init__(
        self,
        state: State,
        collective: str,
        script: Script,
        operation: Callable | None = None,
        root: int = 0,
        parameters: dict[str, object] | None = None,
    ) -> None:
        self.state, self.collective, self.script = state, collective, script
        self.operation, self.root, self.parameters = operation, root, parameters or {}
        self.memory: list[Value] = [None] * script.slots
        self.error: Exception | None = None
        self.nbytes = 0

    def perform(self, supply: Callable[[], list], tags: tuple[int, int, int]) -> list:
        """The whole call: the items that this rank gets for those that `supply` gives."""
        if self.script.inputs:
            self._load(supply)
        self._run(self.state.channel, tags)
        return self._results(self.collective)

    def _load(self, supply: Callable[[], list]) -> None:
        """Put the items that `supply` gives into the inputs; an error of its is a failure."""
        inputs, pieces = self.script.inputs, self.script.pieces
        try:
            items = supply()
        except Exception as error:
            failed = self._failed(error)
            for slot in inputs:
                self.memory[slot] = failed
            return
        for number, item in enumerate(items):
            values = self._cut(self._guarded(pack, item))
            self._store(inputs[number * pieces : (number + 1) * pieces], values)

    def _cut(self, packed: Packed) -> list[Packed | None]:
        if self.operation is None:
            return cut(packed, self.script.pieces)
        # What is to be combined cannot be cut: it is all in the first block.
        return [packed] + [None] * (self.script.pieces - 1)

    def _run(self, channel: native.Intracomm, tags: tuple[int, int, int]) -> None:
        """Perform all rounds."""
        for receives, sends, local in self.script.rounds:
            if receives or sends:
                received, nbytes = exchange(
                    channel,
                    tags,
                    [(peer, len(slots)) for peer, slots in receives],
                    [(peer, [self._packed(slot) for slot in slots]) for peer, slots in sends],
                )
                self.nbytes += nbytes
                for (_, slots), values in zip(receives, received, strict=True):
                    self._store(slots, values)
            for step in local:
                (self._copy if type(step) is CopySlot else self._reduce)(*step)

    def _results(self, collective: str) -> list:
        """The items in the outputs; raises what went wrong on this rank or those before it."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        outputs, pieces = self.script.outputs, self.script.pieces
        return [
            self._result([self.memory[slot] for slot in outputs[at : at + pieces]], collective)
            for at in range(0, len(outputs), pieces)
        ]

    def _result(self, values: list[Value], collective: str) -> object:
        if type(values[0]) is Made:
            return values[0].value
        packed = join(values) if self.operation is None else values[0]
        value = unpack(packed, last=True)
        if packed.failed:
            raise PeerError(collective, *value)
        return value

    def _store(self, slots: tuple[int, ...], values: list[Packed | None]) -> None:
        for slot, value in zip(slots, values, strict=True):
            self.memory[slot] = value

    def _failed(self, error: Exception) -> Packed:
        if self.error is None:
            self.error = error
        return failure(self.state.rank, error)

    def _guarded(self, function: Callable, *arguments: object) -> object:
        """What `function` returns, or the account of its failure."""
        try:
            return function(*arguments)
        except Exception as error:
            return self._failed(error)

    def _packed(self, slot: int) -> Packed | None:
        value = self.memory[slot]
        if type(value) is not Made:
            return value
        packed = self._guarded(value.packed)
        if packed.failed:
            self.memory[slot] = packed
        return packed

    def _copy(self, source: int, into: int, dies: bool) -> None:
        value = self.memory[source]
        if value is None or dies:
            self.memory[into] = value
        elif type(value) is Made:
            self.memory[into] = self._guarded(lambda: Made(clone(value)))
        else:
            self.memory[source] = self.memory[into] = value.shared()

    def _reduce(self, left: int, right: int, into: int, left_dies: bool, right_dies: bool) -> None:
        one, other = self.memory[left], self.memory[right]
        if one is None or one.failed:
            self.memory[into] = one
        elif other.failed:
            self.memory[into] = other
        else:
            self.memory[into] = self._guarded(
                lambda: Made(self.operation(_own(one, left_dies), _own(other, right_dies)))
            )


def _own(value: Packed | Made, dies: bool) -> object:
    """The object of a value, for an operation that may do with it what it likes."""
    if not dies:
        return clone(value)
    return value.value if type(value) is Made else unpack(value, last=True)
