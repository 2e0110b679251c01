"""Straight-line mpi4py programs: the plans of all ranks written out, with nothing to look up.

The program needs mpi4py and NumPy only. It makes its own data, sends and combines it as the plans
say, and checks the result against the meaning of the collective.
"""

from __future__ import annotations

from collections.abc import Iterable

from mpicoll.registry import Algorithm
from mpicoll.show.text import heading
from mpicoll.steps import Chunk, Copy, Input, Output, Plan, Recv, Reduce, Round, Send

__all__ = ["program"]

HEAD = '''\
"""{title}, written out step by step.

{summary}

Run: mpiexec -n {size} python THIS_FILE
"""

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
if comm.Get_size() != {size}:
    raise SystemExit("this program is for {size} ranks: mpiexec -n {size} python ...")

LENGTH = 3  # numbers in a block
nothing = np.empty(0)


def piece(number, ranks):
    """Piece `number` of the data of `ranks`, added up."""
    return sum(10.0 * r + number + np.arange(LENGTH) / 10 for r in ranks)


'''


def program(
    algorithm: Algorithm,
    size: int,
    root: int = 0,
    only: int | None = None,
    **parameters: object,
) -> str:
    """The text of the program, for all ranks or for the rank `only`."""
    title = heading(algorithm, size, root, parameters)
    text = [HEAD.format(title=title, summary=algorithm.summary, size=size)]
    blocks = algorithm.number_of_blocks(size, parameters)
    plans = [algorithm.plan(rank, size, root, **parameters) for rank in range(size)]
    for buffer in _buffers(plans):
        text.append(f"{_name(buffer)} = np.full(({blocks}, LENGTH), np.nan)\n")
    for rank, plan in enumerate(plans):
        if only is not None and rank != only:
            continue
        before = algorithm.spec.before(rank, size, root, blocks)
        after = algorithm.spec.after(rank, size, root, blocks)
        text.append(f"\nif rank == {rank}:\n")
        lines = [f"{b}[{i}] = piece({p.number}, {_ranks(p.ranks)})" for (b, i), p in before.items()]
        for number, steps in enumerate(plan, start=1):
            lines += ["", f"# round {number}", *_round(steps)]
        lines += ["", "# the result"]
        lines += [
            f"assert np.allclose({b}[{i}], piece({p.number}, {_ranks(p.ranks)}))"
            for (b, i), p in after.items()
        ]
        lines.append(f'print("rank {rank}: as it should be")')
        text += [f"    {line}\n" if line else "\n" for line in lines]
    return "".join(text)


def _buffers(plans: Iterable[Plan]) -> list:
    used = {Input: None, Output: None}
    for plan in plans:
        for steps in plan:
            for step in steps:
                used.update((part.buffer, None) for part in step if isinstance(part, Chunk))
    return list(used)


def _name(buffer) -> str:
    return f"{buffer.name}{buffer.number or ''}"


def _ranks(ranks: tuple[int, ...]) -> str:
    if len(ranks) > 2 and ranks == tuple(range(ranks[0], ranks[-1] + 1)):
        return f"range({ranks[0]}, {ranks[-1] + 1})"
    return f"[{', '.join(map(str, ranks))}]"


def _is_run(chunk: Chunk) -> bool:
    blocks = chunk.blocks
    return blocks == tuple(range(blocks[0], blocks[0] + len(blocks)))


def _array(chunk: Chunk) -> str:
    """The chunk as an expression: a view if its blocks follow each other, a copy if not."""
    if not chunk.blocks:
        return "nothing"
    if _is_run(chunk):
        return f"{_name(chunk.buffer)}[{chunk.blocks[0]}:{chunk.blocks[-1] + 1}]"
    return f"{_name(chunk.buffer)}[{list(chunk.blocks)}]"


def _round(steps: Round) -> list[str]:
    sends = [step for step in steps if isinstance(step, Send)]
    recvs = [step for step in steps if isinstance(step, Recv)]
    before, places, after = [], [], []
    for number, step in enumerate(recvs):
        if step.chunk.blocks and not _is_run(step.chunk):
            before.append(f"arrived{number} = np.empty(({len(step.chunk.blocks)}, LENGTH))")
            places.append(f"arrived{number}")
            after.append(f"{_array(step.chunk)} = arrived{number}")
        else:
            places.append(_array(step.chunk))
    for step in steps:
        if isinstance(step, Copy):
            after.append(f"{_array(step.into)} = {_array(step.source)}")
        elif isinstance(step, Reduce):
            after.append(f"{_array(step.into)} = {_array(step.left)} + {_array(step.right)}")
    return [*before, *_messages(sends, recvs, places), *after]


def _messages(sends: list[Send], recvs: list[Recv], places: list[str]) -> list[str]:
    if len(sends) == len(recvs) == 1:
        send, recv = sends[0], recvs[0]
        return [
            f"comm.Sendrecv({_array(send.chunk)}, dest={send.peer}, "
            f"recvbuf={places[0]}, source={recv.peer})"
        ]
    if len(sends) + len(recvs) == 1:
        if sends:
            return [f"comm.Send({_array(sends[0].chunk)}, dest={sends[0].peer})"]
        return [f"comm.Recv({places[0]}, source={recvs[0].peer})"]
    if not sends and not recvs:
        return []
    lines = ["requests = ["]
    lines += [
        f"    comm.Irecv({place}, source={recv.peer}),"
        for recv, place in zip(recvs, places, strict=True)
    ]
    lines += [f"    comm.Isend({_array(send.chunk)}, dest={send.peer})," for send in sends]
    return [*lines, "]", "MPI.Request.Waitall(requests)"]
