"""What the ranks of ``mpicoll trace COLLECTIVE ALGORITHM`` run: one call, recorded and checked."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mpi4py import MPI

from mpicoll.bench.work import Work
from mpicoll.communicator import Intracomm
from mpicoll.trace.recorder import Recorder

__all__ = ["main"]

#: Calls before the one that is recorded: they bind memory, and open MPI's connections.
WARM_UP = 2


def main(words: list[str]) -> int:
    """Run what the only argument says, as JSON; 1 if the result is not MPI's own."""
    asked = json.loads(words[0])
    comm = Intracomm(MPI.COMM_WORLD)
    native = MPI.COMM_WORLD
    work = Work(
        native, asked["collective"], asked["nbytes"], asked["dtype"], asked["op"], asked["root"]
    )
    call = getattr(comm, work.method.name)
    parameters = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in asked["parameters"].items()
    }
    work.expect(native)
    for _ in range(WARM_UP):
        call(*work.arguments, algorithm=asked["algorithm"], **parameters)
    work.reset()
    recorder = Recorder(asked["records"]).open()
    native.Barrier()
    call(*work.arguments, algorithm=asked["algorithm"], **parameters)
    recorder.close(Path(asked["directory"]))
    if not work.right(native):
        print("the result differs from that of MPI's own collective", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
