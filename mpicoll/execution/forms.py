"""One definition of a collective, three methods: blocking, non-blocking and persistent.

A definition is a method that has mpi4py's parameters and returns the arguments for a reader, such
as those of `mpicoll.execution.reducing`. `three_forms` makes from it, in the class that it
decorates, `Allreduce`, `Iallreduce` and `Allreduce_init`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

from mpi4py import MPI
from mpi4py.MPI import buffer
from numpy import ndarray

from mpicoll.execution import native
from mpicoll.execution.bind import MANY, RECV, SEND, SENDRECV
from mpicoll.execution.calls import Call
from mpicoll.execution.progress import progress

__all__ = ["collective", "three_forms"]

#: Operations that have been started, for a look on every call.
pending = progress.pending


def collective(read: Callable[..., Call]) -> Callable[[Callable], Callable]:
    """Mark a method as the definition of a collective whose arguments `read` reads."""

    def mark(define: Callable) -> Callable:
        define.read = read
        return define

    return mark


def three_forms(cls: type) -> type:
    """Replace every definition in `cls` by its three forms."""
    for name, define in list(vars(cls).items()):
        if hasattr(define, "read"):
            started, prepared = f"I{name[0].lower()}{name[1:]}", f"{name}_init"
            _install(cls, name, define, _blocking(define))
            _install(
                cls, started, define, _non_blocking(define, started), "started; returns a Request"
            )
            _install(
                cls, prepared, define, _persistent(define, prepared), "prepared; returns a Prequest"
            )
    return cls


def _install(cls: type, name: str, define: Callable, method: Callable, remark: str = "") -> None:
    method.__name__ = name
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    method.__module__ = cls.__module__
    method.__doc__ = define.__doc__ + (f"\n\n        Only {remark}." if remark else "")
    parameters = list(inspect.signature(define).parameters.values())
    keyword = inspect.Parameter.KEYWORD_ONLY
    if name.endswith("_init"):
        info = inspect.Parameter("info", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters.append(info.replace(default=MPI.INFO_NULL))
    parameters.append(inspect.Parameter("algorithm", keyword, default=None))
    parameters.append(inspect.Parameter("parameters", inspect.Parameter.VAR_KEYWORD))
    method.__signature__ = inspect.Signature(parameters)
    setattr(cls, name, method)


def _names(define: Callable) -> frozenset[str]:
    return frozenset(list(inspect.signature(define).parameters)[1:])


def _divide(names: frozenset[str], keywords: dict[str, object]) -> dict[str, object]:
    """Take the collective's own arguments out of `keywords`; what is left is the algorithm's."""
    return {name: keywords.pop(name) for name in names & keywords.keys()}


def _blocking(define: Callable) -> Callable:
    read, names, method = define.read, _names(define), define.__name__

    # The whole way of a call that comes again is in this one function, the loop of `blocking.run`
    # too: what lies together is still in the processor's caches when a large message has gone by,
    # and that was measured to be worth a tenth of a short call.
    def call(self, *arguments, algorithm=None, **parameters):
        state = self._state or self.state
        state.calls = number = state.calls + 1  # as in next_tag
        tag = 2 * number % state.tags

        # A key for a call with nothing but plain arrays: the same key means the same call. It holds
        # all that reading the arguments depends on, so that they need not be read again.
        shortcut = None
        try:
            if len(arguments) == 2 and not parameters:
                # The general way below, without its loop.
                first, second = arguments
                if type(second) is ndarray and type(first) is ndarray:
                    a, b = buffer(first), buffer(second)
                    # fmt: off
                    shortcut = (define, algorithm, a.address, a.nbytes, a.readonly, first.dtype,
                                b.address, b.nbytes, b.readonly, second.dtype)
                    # fmt: on
            if shortcut is None:
                key = [define, algorithm, *parameters]
                for argument in (*arguments, *parameters.values()) if parameters else arguments:
                    if type(argument) is ndarray:
                        a = buffer(argument)
                        key += (a.address, a.nbytes, a.readonly, argument.dtype)
                    elif type(argument) is int or argument is None:
                        key.append(argument)
                    else:
                        key.append(_LASTING[id(argument)])
                shortcut = tuple(key)
        except (BufferError, KeyError, ValueError):
            pass  # not contiguous, or of another kind: its reader knows

        bound = state.shortcuts.get(shortcut)
        if bound is not None and bound.idle and not pending:
            bound.idle = False
            try:
                channel = state.channel
                for kind, sent, dest, received, source, local in bound.program:
                    if kind == SENDRECV:
                        channel.Sendrecv(sent, dest, tag, received, source, tag)
                    elif kind == RECV:
                        channel.Recv(sent, dest, tag)
                    elif kind == SEND:
                        channel.Send(sent, dest, tag)
                    elif kind == MANY:
                        requests = [channel.Irecv(spec, peer, tag) for spec, peer in received]
                        requests += [channel.Isend(spec, peer, tag) for spec, peer in sent]
                        native.Request.Waitall(requests)
                    for step in local:
                        step()
            finally:
                bound.idle = True
            return

        own = _divide(names, parameters)
        given = read(state.rank, state.size, *define(self, *arguments, **own))
        given.method = method
        kept = state.perform(given, tag, algorithm, parameters)
        if shortcut is not None and kept is not None:
            state.remember(shortcut, kept)

    return call


#: Objects of MPI's that last as long as the process, and so may stand for themselves in a key.
_LASTING = {
    id(value): name
    for name, value in vars(MPI).items()
    if value is MPI.IN_PLACE or (isinstance(value, MPI.Op) and value.is_predefined)
}


def _non_blocking(define: Callable, method: str) -> Callable:
    read, names = define.read, _names(define)

    def call(self, *arguments, algorithm=None, **parameters):
        state = self.state
        tag = state.next_tag()
        own = _divide(names, parameters)
        given = read(state.rank, state.size, *define(self, *arguments, **own))
        given.method = method
        return state.start(given, tag, algorithm, parameters)

    return call


def _persistent(define: Callable, method: str) -> Callable:
    read, names = define.read, _names(define)

    def call(self, *arguments, algorithm=None, **parameters):
        state = self.state
        tag = state.next_tag(persistent=True)
        own = _divide(names | {"info"}, parameters)
        if len(arguments) > len(names):
            *arguments, own["info"] = arguments
        own.pop("info", None)  # there are no hints that mpicoll takes
        given = read(state.rank, state.size, *define(self, *arguments, **own))
        given.method = method
        return state.prepare(given, tag, algorithm, parameters)

    return call
