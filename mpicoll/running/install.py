"""Our communicators in the place of mpi4py's, for everything that imports `mpi4py.MPI` later."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

__all__ = ["install"]

NAME = "mpi4py.MPI"
COMMUNICATORS = ("Intracomm", "Topocomm", "Cartcomm", "Graphcomm", "Distgraphcomm", "Intercomm")
REQUESTS = ("Request", "Prequest")


def install(then: Callable[[], object] = lambda: None, native: bool = False) -> None:
    """Replace communicators and their classes as soon as MPI is there, and call `then`.

    With `native` they stay MPI's own, and are watched, if that is wished.

    MPI is not loaded for that: the program may set `mpi4py.rc` first. Where it starts MPI by
    `MPI.Init` itself, the replacement waits until then.
    """
    replace = _watch if native else _replace
    if NAME in sys.modules:
        _when_initialized(sys.modules[NAME], then, replace)
    else:
        sys.meta_path.insert(0, _Finder(lambda mpi: _when_initialized(mpi, then, replace)))


class _Finder(MetaPathFinder):
    """Finds mpi4py.MPI as the others do, and lets us know when it has been loaded."""

    def __init__(self, then: Callable[[ModuleType], object]) -> None:
        self.then = then

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != NAME:
            return None
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                spec.loader = _Loader(spec.loader, self.then)
                return spec
        return None


class _Loader(Loader):
    def __init__(self, loader: Loader, then: Callable[[ModuleType], object]) -> None:
        self.loader, self.then = loader, then

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.then(module)


def _when_initialized(
    mpi: ModuleType, then: Callable[[], object], replace: Callable[[ModuleType], None]
) -> None:
    if mpi.Is_initialized():
        replace(mpi)
        then()
        return

    def initializing(start: Callable) -> Callable:
        def initialize(*arguments: object, **keywords: object) -> object:
            result = start(*arguments, **keywords)
            mpi.Init, mpi.Init_thread = original
            replace(mpi)
            then()
            return result

        return initialize

    original = mpi.Init, mpi.Init_thread
    mpi.Init, mpi.Init_thread = map(initializing, original)


def _replace(mpi: ModuleType) -> None:
    # Only now, as these modules need MPI to be running.
    from mpicoll import communicator
    from mpicoll.execution import native, request
    from mpicoll.running import comm

    for names, module in ((("Comm",), comm), (COMMUNICATORS, communicator), (REQUESTS, request)):
        for name in names:
            ours = getattr(module, name)
            ours.stands_for = getattr(native, name)
            setattr(mpi, name, ours)
    for name in ("COMM_WORLD", "COMM_SELF"):
        setattr(mpi, name, communicator.Intracomm(getattr(native, name)))


def _watch(mpi: ModuleType) -> None:
    from mpicoll.diagnosis.switches import open_switches

    open_switches(mpi)
