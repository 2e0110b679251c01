"""Plans performed on Python objects: memory is a list of values, messages are parcels.

A plan is translated once into a `Script`, in which blocks are numbers of slots and every operand
says whether it is used for the last time. So an operation that works in place on its argument gets
the value itself where nobody needs it any more, and otherwise a copy: results, arguments and what
has been sent never share memory.

Where a rank cannot make a value (an object that cannot be pickled, an operation that raises), the
account of the failure takes its place in the plan. The rank itself raises its own error at the end
of the call, those that should have got the value raise `PeerError`, and no rank is left waiting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from mpicoll.errors import PeerError
from mpicoll.execution import native
from mpicoll.execution.parcels import exchange
from mpicoll.execution.values import Made, Packed, Value, clone, cut, failure, join, pack, unpack
from mpicoll.registry import Algorithm
from mpicoll.steps import Buffer, Chunk, Copy, Plan, Recv, Reduce, Round, Send

__all__ = ["Job", "Script", "script_from", "script_of"]

Slot = tuple[Buffer, int]


class CopySlot(NamedTuple):
    """Copy one block; `dies`: the source is not read again."""

    source: int
    into: int
    dies: bool


class ReduceSlots(NamedTuple):
    """Combine one block of each operand; `..._dies`: that operand is not read again."""

    left: int
    right: int
    into: int
    left_dies: bool
    right_dies: bool


class ScriptRound(NamedTuple):
    """Messages as (peer, slots), and the local steps after them."""

    receives: tuple[tuple[int, tuple[int, ...]], ...]
    sends: tuple[tuple[int, tuple[int, ...]], ...]
    local: tuple[CopySlot | ReduceSlots, ...]


class Script(NamedTuple):
    """A plan on numbered slots; every item lies in `pieces` consecutive inputs or outputs."""

    algorithm: Algorithm
    slots: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    pieces: int
    rounds: tuple[ScriptRound, ...]


@lru_cache(maxsize=1024)
def script_of(
    algorithm: Algorithm, rank: int, size: int, root: int, settings: tuple[tuple[str, object], ...]
) -> Script:
    """The script of one rank for an algorithm with its parameters."""
    parameters = dict(settings)
    blocks = algorithm.number_of_blocks(size, parameters)
    spec = algorithm.spec
    inputs, outputs = (
        sorted(statement(rank, size, root, blocks), key=_block)
        for statement in (spec.before, spec.after)
    )
    pieces = blocks if spec.vector else blocks // size
    return script_from(algorithm.plan(rank, size, root, **parameters), inputs, outputs, pieces)


def script_from(
    plan: Plan, inputs: Sequence[Slot], outputs: Sequence[Slot], pieces: int = 1
) -> Script:
    """The script of a plan that finds its items in `inputs` and leaves its results in `outputs`."""
    numbers: dict[Slot, int] = {}

    def number(slot: Slot) -> int:
        return numbers.setdefault(slot, len(numbers))

    def slots(chunk: Chunk) -> tuple[int, ...]:
        return tuple(number((chunk.buffer, block)) for block in chunk.blocks)

    sources, targets = (tuple(map(number, given)) for given in (inputs, outputs))
    rounds = _rounds(plan, slots, set(targets))
    return Script(len(numbers), sources, targets, pieces, rounds)


def _block(slot: Slot) -> int:
    return slot[1]


def _rounds(
    plan: Plan, slots: Callable[[Chunk], tuple[int, ...]], live: set[int]
) -> tuple[ScriptRound, ...]:
    """Translate from the last round to the first, to know which slots are still read later."""
    rounds = [_round(steps, slots, live) for steps in reversed(plan)]
    return tuple(reversed(rounds))


def _round(steps: Round, slots: Callable[[Chunk], tuple[int, ...]], live: set[int]) -> ScriptRound:
    local = [
        entry
        for step in reversed(steps)
        if isinstance(step, (Copy, Reduce))
        for entry in _local(step, slots, live)
    ]
    receives = tuple((s.peer, slots(s.chunk)) for s in steps if isinstance(s, Recv))
    sends = tuple((s.peer, slots(s.chunk)) for s in steps if isinstance(s, Send))
    for _, received in receives:
        live.difference_update(received)
    for _, sent in sends:
        live.update(sent)
    return ScriptRound(receives, sends, tuple(reversed(local)))


def _local(
    step: Copy | Reduce, slots: Callable[[Chunk], tuple[int, ...]], live: set[int]
) -> Iterator[CopySlot | ReduceSlots]:
    """The blocks of a local step, last first."""
    for *sources, into in reversed(list(zip(*map(slots, step), strict=True))):
        if sources == [into]:
            continue
        live.discard(into)
        dies = [slot not in live for slot in sources]
        if len(sources) == 2 and sources[0] == sources[1]:
            dies[0] = False
        live.update(sources)
        kind = CopySlot if len(sources) == 1 else ReduceSlots
        yield kind(*sources, into, *dies)


class Job:
    """One call on one rank: the memory of a script, and what went wrong here."""

    def __init__(self, script: Script, rank: int, operation: Callable | None) -> None:
        self.script, self.rank, self.operation = script, rank, operation
        self.memory: list[Value] = [None] * script.slots
        self.error: Exception | None = None
        self.nbytes = 0

    def perform(
        self,
        supply: Callable[[], list],
        channel: native.Intracomm,
        tags: tuple[int, int, int],
    ) -> list:
        """The whole call: the items that this rank gets for those that `supply` gives."""
        if self.script.inputs:
            self._load(supply)
        self._run(channel, tags)
        return self._results()

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

    def _results(self) -> list:
        """The items in the outputs; raises what went wrong on this rank or those before it."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error
        outputs, pieces = self.script.outputs, self.script.pieces
        return [
            self._result([self.memory[slot] for slot in outputs[at : at + pieces]])
            for at in range(0, len(outputs), pieces)
        ]

    def _result(self, values: list[Value]) -> object:
        if type(values[0]) is Made:
            return values[0].value
        packed = join(values) if self.operation is None else values[0]
        value = unpack(packed, last=True)
        if packed.failed:
            raise PeerError(self.script.algorithm.collective, *value)
        return value

    def _store(self, slots: tuple[int, ...], values: list[Packed | None]) -> None:
        for slot, value in zip(slots, values, strict=True):
            self.memory[slot] = value

    def _failed(self, error: Exception) -> Packed:
        if self.error is None:
            self.error = error
        return failure(self.rank, error)

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
