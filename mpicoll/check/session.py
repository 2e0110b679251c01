"""One rank's side of a check: buffers, the native result, and every algorithm compared with it."""

from __future__ import annotations

import hashlib
import time
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from mpi4py import MPI

from mpicoll.check.cases import Call, Variant
from mpicoll.check.channel import guarded
from mpicoll.check.compare import Fault, Target, compare
from mpicoll.check.forms import FORMS, Made
from mpicoll.check.memory import Area
from mpicoll.steps import Send

__all__ = ["Batch", "CaseError", "Session"]

DELAY = 0.001


class CaseError(RuntimeError):
    """A call raised an exception; the message names the case, the cause follows."""


@dataclass
class Batch:
    """What one rank saw of some cases, by the number of the case.

    `digests` of results that must be the same on all ranks, `times` when a barrier was entered and
    left, `errors` in units of the bound, `ends` how many calls had been made after each case;
    `counted` the cases whose messages were.
    """

    cases: list[tuple[Variant, Call, str]] = field(default_factory=list)
    faults: dict[int, Fault] = field(default_factory=dict)
    digests: dict[int, bytes] = field(default_factory=dict)
    times: dict[int, tuple[float, float]] = field(default_factory=dict)
    errors: dict[int, float] = field(default_factory=dict)
    ends: list[int] = field(default_factory=list)
    counted: int = 0

    def fault(self, number: int, fault: Fault) -> None:
        """Note the first thing that is wrong in a case."""
        self.faults.setdefault(number, fault)


class _Prepared:
    """A call's buffers on this rank with one content, and what they must hold afterwards."""

    def __init__(self, session: Session, call: Call, content: int) -> None:
        rank, size = session.rank, session.size
        layout = call.method.lay(call, rank, size)
        shift = 0
        if call.layout != "plain" and call.kind is not None:
            shift = 3 * call.kind.element.dtype.alignment
        self.send, self.receive = Area(layout.send, shift), Area(layout.receive, shift)
        for area, slots in ((self.send, layout.inputs), (self.receive, layout.own)):
            for slot, values in zip(slots, session.inputs(call, rank, content), strict=False):
                area.write(slot, values)
            area.keep()
        self.arguments = call.method.arguments(call, rank, size, self.send, self.receive)
        self.layout = layout
        self.target: Target | None = None

    def reset(self) -> None:
        self.send.reset()
        self.receive.reset()


class Session:
    """Makes calls on one rank; all ranks make the same ones in the same order."""

    def __init__(self, comm: MPI.Intracomm, seed: int, watch: Callable[[str], None]) -> None:
        self.plain = comm.Dup()
        self.ours, self.channel = guarded(comm)
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.seed, self.watch = seed, watch
        hosts = self.plain.allgather(MPI.Get_processor_name())
        # Clocks can be compared on one host only.
        self.one_host = len(set(hosts)) == 1

    def close(self) -> None:
        """Free the communicators; collective."""
        self.ours.Free()
        self.plain.Free()

    def inputs(self, call: Call, rank: int, content: int) -> list[np.ndarray]:
        """The inputs of any rank, one array per slot; the same wherever they are asked for."""
        layout = call.method.lay(call, rank, self.size)
        slots = layout.inputs or layout.own
        if call.kind is None:
            return []
        name = sum(map(ord, call.method.name))
        random = np.random.default_rng([self.seed, name, call.number, content, rank])
        return [
            replace(call.kind, element=slot.element).values(
                random, rank, block, slot.count, self.size
            )
            for block, slot in enumerate(slots)
        ]

    def prepare(self, call: Call, content: int = 0) -> _Prepared:
        """Buffers for a call, and its native result."""
        made = _Prepared(self, call, content)
        if call.layout == "gaps" and call.method.collective == "reduce_scatter":
            self._by_allreduce(made, call)
        else:
            getattr(self.plain, call.method.name)(*made.arguments)
        made.target = Target(made.send, made.receive, made.layout)
        if call.kind is not None and call.kind.operation and call.kind.operation.rounds:
            self._set_bound(made, call, content)
        return made

    def _by_allreduce(self, made: _Prepared, call: Call) -> None:
        """The result of Reduce_scatter(_block), from native Allreduce.

        MPICH 5.0's own crash on datatypes with gaps, before any operation is called.
        """
        [slot] = made.layout.own or made.layout.inputs
        source = made.receive if call.in_place else made.send
        whole, kind = Area([slot], 0), call.kind
        vectors = [[area.from_start, slot.count, slot.element.datatype] for area in (source, whole)]
        self.plain.Allreduce(*vectors, kind.operation.op)
        first, count = call.method.part(call, self.rank, self.size)
        mine = slot._replace(at=first * slot.element.extent, count=count)
        made.receive.write(made.layout.outputs[0], whole.read(mine))

    def _set_bound(self, made: _Prepared, call: Call, content: int) -> None:
        """The bound of the difference: additions x eps x the sum (product) of magnitudes."""
        ranks = call.method.contributors(self.rank, self.size)
        first, count = call.method.part(call, self.rank, self.size)
        magnitude = call.kind.operation.magnitude
        total = None
        for rank in range(ranks):
            whole = np.concatenate([v.ravel() for v in self.inputs(call, rank, content)])
            values = np.abs(whole[first : first + count]).astype(np.float64)
            total = values if total is None else magnitude(total, values)
        if total is not None:
            eps = np.finfo(call.kind.element.dtype).eps
            # A product of complex numbers has four products and two sums.
            weight = 4 if call.kind.element.dtype.kind == "c" and magnitude is np.multiply else 1
            made.target.unit, made.target.limit = eps * total * weight, max(ranks - 1, 1)

    def run(self, call: Call, cases: list[tuple[Variant, str]], batch: Batch) -> None:
        """Make a call natively, then by every given algorithm and form."""
        self.watch(f"native {call}")
        prepared = [self.prepare(call, content) for content in range(1 + call.twice)]
        for variant, form in cases:
            number = len(batch.cases)
            batch.cases.append((variant, call, form))
            self.watch(f"{variant} ({form}): {call}")
            try:
                self._case(number, variant, call, form, prepared, batch)
            except Exception as error:
                raise CaseError(
                    f"rank {self.rank}: {variant} ({form}): {call}: {type(error).__name__}: {error}"
                ) from error

    def _case(
        self,
        number: int,
        variant: Variant,
        call: Call,
        form: str,
        prepared: list[_Prepared],
        batch: Batch,
    ) -> None:
        barrier = call.method.name == "Barrier"
        for made in prepared:
            made.reset()
        if (call.twice or barrier) and call.delayed == self.rank:
            time.sleep(DELAY)
        before = self.channel.messages
        entered = time.monotonic()
        calls = [self.make(variant, call, form, made) for made in prepared]
        for each in calls:
            each.start()
        # The later one first: what was started must go on whatever is waited for.
        for each in reversed(calls):
            each.finish()
        left = time.monotonic()
        sent = self.channel.messages - before
        if barrier and self.one_host:
            batch.times[number] = (entered, left)
        for made in prepared:
            self._judge(number, call, made, batch)
        if variant.algorithm:
            batch.counted += 1
            planned = len(prepared) * self.planned(variant, call)
            if sent != planned:
                text = f"{sent} messages were sent through the channel, the plan has {planned}"
                batch.fault(number, Fault(self.rank, text))
        if call.twice:
            self._again(number, call, calls[0], prepared, batch)
        for each in calls:
            each.free()
        batch.ends.append(self.ours.state.calls)

    def _again(
        self, number: int, call: Call, made: Made, prepared: list[_Prepared], batch: Batch
    ) -> None:
        """Once more on the same memory with another content: what is bound to it is used again."""
        first, second = prepared
        own, first.target = first.target, second.target
        first.send.memory[:] = second.send.initial
        first.receive.memory[:] = second.receive.initial
        made.start()
        made.finish()
        self._judge(number, call, first, batch)
        first.target = own

    def make(self, variant: Variant, call: Call, form: str, prepared: _Prepared) -> Made:
        """The call by an algorithm, in a form, on prepared buffers."""
        name, keywords = call.method.name, variant.keywords
        return FORMS[form](self.ours, name, prepared.arguments, keywords)

    def _judge(self, number: int, call: Call, made: _Prepared, batch: Batch) -> None:
        fault, error = compare(self.rank, made.send, made.receive, made.target)
        if fault:
            batch.fault(number, fault)
        if made.target.unit is not None:
            batch.errors[number] = max(error, batch.errors.get(number, 0.0))
            if call.method.name == "Allreduce":
                digest = hashlib.blake2b(batch.digests.get(number, b""), digest_size=8)
                digest.update(made.receive.memory[made.receive.start :])
                batch.digests[number] = digest.digest()

    def planned(self, variant: Variant, call: Call) -> int:
        """How many messages this rank sends by the plan."""
        parameters = self.ours.state.placed(variant.algorithm, dict(variant.parameters))
        plan = variant.algorithm.plan(self.rank, self.size, call.root, **parameters)
        return sum(isinstance(step, Send) for steps in plan for step in steps)

    def stray(self, batch: Batch) -> None:
        """Find a message that nobody received; to be called when all ranks are through."""
        status = MPI.Status()
        if self.channel.Iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG, status):
            # Tags count calls, two for each (see State.next_tag).
            number = bisect_left(batch.ends, status.Get_tag() // 2)
            text = f"a message from rank {status.Get_source()} was never received"
            batch.fault(min(number, len(batch.cases) - 1), Fault(self.rank, text))
