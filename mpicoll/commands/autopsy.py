"""``mpicoll autopsy``: the records of a job's ranks, merged into what went wrong."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import asdict
from pathlib import Path

from mpicoll.commands import CommandError, Exit
from mpicoll.commands.units import show_seconds, table, write_json
from mpicoll.diagnosis import record as form
from mpicoll.diagnosis.hang import hang_lines, report_on
from mpicoll.diagnosis.reading import RankRecord, read_records
from mpicoll.diagnosis.states import RankState

__all__ = ["configure", "run"]

EXAMPLES = """\
A job writes the records if MPICOLL_FLIGHT=DIR is set or it runs under mpicoll run --flight DIR.
They are there whatever became of it, and may be looked at while it lives; `kill -USR1` to a rank
adds the line that it is at.

examples:
  mpicoll run -n 4 --flight DIR program.py   a job that is recorded
  mpicoll autopsy DIR                        who is missing where, and where each rank stands
  mpicoll autopsy DIR --last 5               and the last 5 collectives of each rank
  mpicoll autopsy DIR --json -               all entries, with the fields of torch's flight recorder

The exit status is 1 if something is wrong, such as a rank that others wait for.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments and examples."""
    parser.epilog = EXAMPLES
    parser.add_argument("directory", metavar="DIR", help="the directory with the records")
    parser.add_argument(
        "--last", type=int, default=0, metavar="N", help="list the last N collectives of each rank"
    )
    parser.add_argument("--json", metavar="FILE", help="write all of it to FILE (- = stdout)")


def run(args: argparse.Namespace) -> int:
    """Read, explain, print."""
    directory = Path(args.directory)
    try:
        records = read_records(directory)
        states, report = report_on(directory)
    except (OSError, ValueError) as error:
        raise CommandError(str(error)) from None
    out = sys.stderr if args.json == "-" else sys.stdout
    print(_standing(records), file=out)
    lines = hang_lines(states, report) if report.findings else ["nothing wrong is to be seen"]
    print("\n" + "\n".join(lines), file=out)
    for record in records if args.last > 0 else []:
        print(f"\nrank {record.rank}:\n{_listing(record, args.last)}", file=out)
    if args.json:
        write_json(args.json, _merged(records, states, report.as_dict()))
    return Exit.FAILED if report.findings else Exit.OK


def _standing(records: list[RankRecord]) -> str:
    """A line for each rank: how far it is, and for how long."""
    size = records[0].size
    rows = []
    for record in records:
        what, _, method, since, _ = record.inside
        ended = [e for e in record.collectives if e["state"] == "completed"]
        now = {
            form.OUTSIDE: "outside MPI",
            form.FINISHED: "finished",
            form.BROKEN: "failed",
        }.get(what, f"in {method}")
        waiting = what in (form.IN_MESSAGES, form.IN_COLLECTIVE)
        seconds = show_seconds((time.time_ns() - since) / 1e9) if waiting else ""
        total = record.collectives[-1]["record_id"] + 1 if record.collectives else 0
        last = _named(ended[-1]) if ended else "none"
        rows.append([str(record.rank), record.host, str(total), last, now, seconds])
    head = ["rank", "host", "collectives", "last complete", "now", "begun before"]
    text = table(head, rows, left=6)
    missing = size - len(records)
    return text + (f"\nno records of {missing} of {size} ranks" if missing else "")


def _named(entry: dict) -> str:
    group = entry.get("process_group", "")
    on = "" if group == "COMM_WORLD" else f" on {group}"
    return f"{entry.get('profiling_name', '?')} {entry.get('collective_seq_id', '?')}{on}"


def _listing(record: RankRecord, last: int) -> str:
    rows = []
    for entry in record.collectives[-last:]:
        duration = entry["duration_ms"]
        frames = entry.get("frames") or [{}]
        place = f"{frames[0].get('filename', '')}:{frames[0].get('line', '')}"
        took = show_seconds(duration / 1e3) if duration is not None else ""
        rows.append([_named(entry), entry["state"], took, place])
    return table(["collective", "state", "took", "called at"], rows, left=4)


def _merged(records: list[RankRecord], states: list[RankState], report: dict) -> dict:
    return {
        "version": form.VERSION,
        "report": report,
        "ranks": [
            {
                "rank": record.rank,
                "host": record.host,
                "pid": record.pid,
                "state": asdict(state),
                "entries": record.collectives,
            }
            for record, state in zip(records, states, strict=False)
        ],
    }
