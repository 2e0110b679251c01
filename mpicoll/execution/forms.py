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

from mpicoll.execution.calls import Call

__all__ = ["collective", "three_forms"]


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

    def call(self, *arguments, algorithm=None, **parameters):
        state = self._state or self.state
        state.calls = number = state.calls + 1  # as in next_tag
        tag = 2 * number % state.tags
        shortcut = shortcut_to(define, algorithm, arguments, parameters)
        if shortcut is not None and state.again(shortcut, tag):
            return
        own = _divide(names, parameters)
        given = read(state.rank, state.size, *define(self, *arguments, **own))
        given.method = method
        key = state.perform(given, tag, algorithm, parameters)
        if shortcut is not None and key is not None:
            state.remember(shortcut, key)

    return call


#: Objects of MPI's that last as long as the process, and so may stand for themselves in a key.
_LASTING = {
    id(value): name
    for name, value in vars(MPI).items()
    if value is MPI.IN_PLACE or (isinstance(value, MPI.Op) and value.is_predefined)
}


def shortcut_to(
    define: Callable, algorithm: str | None, arguments: tuple, keywords: dict
) -> tuple | None:
    """A key for a call with nothing but plain arrays: the same key means the same call.

    It holds all that reading the arguments depends on, so that a call that comes again need not be
    read again. None if an argument is of another kind.
    """
    try:
        if len(arguments) == 2 and not keywords:
            # The general way below, without its loop: most calls come here.
            first, second = arguments
            if type(first) is ndarray and type(second) is ndarray:
                a, b = buffer(first), buffer(second)
                # fmt: off
                return (define, algorithm, a.address, a.nbytes, a.readonly, first.dtype,
                        b.address, b.nbytes, b.readonly, second.dtype)
                # fmt: on
        key = [define, algorithm]
        if keywords:
            key += keywords
            arguments = (*arguments, *keywords.values())
        for argument in arguments:
            if type(argument) is ndarray:
                a = buffer(argument)
                key += (a.address, a.nbytes, a.readonly, argument.dtype)
            elif argument is None or type(argument) is int:
                key.append(argument)
            else:
                name = _LASTING.get(id(argument))
                if name is None:
                    return None
                key.append(name)
    except (BufferError, ValueError):  # not contiguous: the reader says what is wrong
        return None
    return tuple(key)


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
