"""The report on a job that does not go on, from the records of its ranks. No MPI is needed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mpicoll.diagnosis.reading import RankRecord, read_records, states_of
from mpicoll.diagnosis.states import RankState
from mpicoll.diagnosis.waits import Report, explain
from mpicoll.launch.stacks import describe, group, parse_dump, ranks_text

__all__ = ["has_records", "hang_lines", "places_of", "report_on"]

#: Not more of what lies about unreceived or unfinished is listed.
MOST_LISTED = 8
ENDS = {"finished": "at the end of the program", "absent": "not started, or without a record"}


def has_records(directory: Path) -> bool:
    """Whether ranks have recorded anything there."""
    return any(directory.glob("rank-*.record"))


def places_of(directory: Path, records: list[RankRecord]) -> dict[int, str]:
    """Where ranks were when they last wrote their stack."""
    places = {}
    for record in records:
        path = directory / f"rank-{record.rank}.stack"
        text = path.read_text(errors="replace") if path.exists() else ""
        frames = parse_dump(text, record.thread)
        if frames:
            places[record.rank] = describe(frames)
    return places


def report_on(
    directory: Path,
    places: Mapping[int, str] | None = None,
    status: Mapping[int, str] | None = None,
) -> tuple[list[RankState], Report]:
    """The states of all ranks, and what is wrong; ValueError if the records are damaged."""
    records = read_records(directory)
    if places is None:
        places = places_of(directory, records)
    states = states_of(records, places, status)
    known = {state.rank for state in states}
    for rank in set(range(records[0].size)) - known:
        # It may be there and not have come to MPI yet.
        here = (status or {}).get(rank) == "running"
        states.append(RankState(rank, "running" if here else "absent", places.get(rank)))
    states.sort(key=lambda state: state.rank)
    return states, explain(states)


def hang_lines(states: list[RankState], report: Report) -> list[str]:
    """What is wrong, then what each rank is in."""
    lines = []
    for finding in report.findings:
        first, *rest = finding.text.split("\n")
        lines += [f"* {first}", *(f"  {line}" for line in rest)]
    lines += [f"  {ranks_text(ranks)} {text}" for ranks, text in group(_doing(states))]
    return lines


def _doing(states: list[RankState]) -> dict[int, str]:
    """What every rank does, without what stands in the findings as well."""
    texts = {}
    for state in states:
        parts = []
        if state.status == "blocked":
            # The same for all of those that are in one collective.
            which = " or " if state.any_suffices else " and "
            parts.append(f"in {which.join(map(str, state.waits[:MOST_LISTED]))}")
        elif state.status == "running":
            parts.append("not inside MPI")
        else:
            parts.append(ENDS.get(state.status, state.status))
        if str(state.where).startswith("silent"):  # no place, but why there is none
            parts.insert(0, f"is {state.where}")
        elif state.where:
            parts.append("at " + str(state.where).replace("\n", "\n    "))
        begun = [f"{end} begun at {end.where}" for end in state.started[:MOST_LISTED] if end.where]
        parts += [f"with an unfinished {text}" for text in begun]
        texts[state.rank] = ",\n    ".join(parts)
    return texts
