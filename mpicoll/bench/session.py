"""A benchmark as every rank runs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mpi4py import MPI

from mpicoll.bench import collective, overlap, pingpong, startup
from mpicoll.bench.environment import environment
from mpicoll.bench.gloo import Gloo
from mpicoll.bench.options import Options, Task
from mpicoll.bench.result import FORMAT, means
from mpicoll.bench.sizes import size_text
from mpicoll.bench.table import best_lines, header, mean_lines, series, table

__all__ = ["run_ranks"]

Say = Callable[[str], None]


def run_ranks(
    tasks: Iterable[Task],
    options: Options,
    busy: float | None,
    show: Say,
    progress: Say,
    keep: Callable[[object], None] | None = None,
) -> dict[str, object]:
    """Measure on the ranks of COMM_WORLD. Everything about it, on rank 0; others only "ok".

    On rank 0 `show` gets the lines of the tables, `progress` what is going on, and `keep` the
    environment, then each row as soon as it is there.
    """
    world = MPI.COMM_WORLD.Dup()
    first = world.Get_rank() == 0

    def say(*lines: str) -> None:
        for line in lines if first else ():
            show(line)

    def tell(text: str) -> None:
        if first:
            progress(text)

    about = environment(world, busy)
    say(*header(about))

    def kept(found: list[dict]) -> list[dict]:
        for each in found if keep else ():
            keep(each)
        return found

    if keep:
        keep({"format": FORMAT, "environment": about})
    gloo = Gloo(world, options.op) if "gloo" in options.against else None
    rows: list[dict] = []
    network = None
    tasks = list(tasks)
    for task in tasks:
        notes: dict[str, None] = {}
        if task.group == "pingpong":
            tell("pingpong")
            found, network = pingpong.measured(
                world, task, options, about["cores"], notes.setdefault
            )
        elif task.group == "startup":
            tell(f"startup {task.collective}")
            started = any(each["independent"]["group"] == "startup" for each in rows)
            found = [] if world.bcast(started) else startup.imports(world)
            found += startup.measured(world, task, options)
        elif task.group == "overlap":
            found = _sizes(map(kept, overlap.measured(world, task, options)), task, tell)
        else:
            measured = collective.measured(world, task, options, gloo, notes.setdefault)
            found = _sizes(map(kept, measured), task, tell)
        if first:
            _print(task, found, list(notes), say)
        if task.group in ("pingpong", "startup"):
            kept(found)
        rows += found
    if len({task.collective for task in tasks}) > 1:
        say(*mean_lines([r for r in rows if r["independent"]["group"] == "collectives"]))
    if gloo is not None:
        gloo.close()
    world.Free()
    wrong = [each for each in rows if each["dependent"].get("verified") is False]
    facts: dict[str, object] = {"ok": not wrong}
    if first:
        facts |= {
            "format": FORMAT,
            "environment": about,
            "rows": rows,
            "means": means(rows),
            "network": network,
        }
    return facts


def _sizes(measured: Iterable[list[dict]], task: Task, tell: Say) -> list[dict]:
    rows: list[dict] = []
    title = f"{task.group} {task.collective}" if task.group != "collectives" else task.collective
    tell(f"{title}: {len(task.sizes)} sizes")
    for number, found in enumerate(measured, 1):
        if not found:  # nobody could take part
            continue
        rows += found
        shown = [each for each in found if each["independent"]["library"] != "floor"]
        best = sorted(shown, key=lambda each: each["dependent"]["p50"])[:3]
        text = ", ".join(
            f"{each['independent']['candidate']} {each['dependent']['p50'] * 1e6:.1f} us"
            for each in best
        )
        nbytes = size_text(found[0]["independent"]["nbytes"])
        tell(f"{title} {nbytes} ({number} of {len(task.sizes)}): {text}")
    return rows


def _print(task: Task, rows: list[dict], notes: list[str], say: Callable[..., None]) -> None:
    if task.group == "startup":
        say(*startup.lines(rows))
        return
    for members in series(rows):
        say(*table(members))
    if task.group == "collectives":
        say(*best_lines(rows))
    if task.group in ("collectives", "persistent"):
        say(*mean_lines(rows))
    for note in notes:
        say(f"# {note}")
