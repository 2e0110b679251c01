"""Rebuild docs/gallery.md and its pictures from real runs: make gallery."""

import argparse
import sys
from pathlib import Path

from mpicoll.commands.trace import configure, record, the_algorithm
from mpicoll.spec import SPECS
from mpicoll.trace.picture import picture

DOCS = Path(__file__).parents[1] / "docs"

#: Collective, algorithm, ranks: one of each collective, and the ring on more.
PICTURES = [
    ("allreduce", "ring", 4),
    ("reduce_scatter", "recursive_halving", 4),
    ("allgather", "recursive_doubling", 4),
    ("bcast", "binomial", 4),
    ("reduce", "binomial", 4),
    ("scatter", "binomial", 4),
    ("gather", "binomial", 4),
    ("alltoall", "pairwise", 4),
    ("scan", "recursive_doubling", 4),
    ("exscan", "linear", 4),
    ("barrier", "dissemination", 4),
    ("allreduce", "ring", 8),
]

HEAD = """\
# Gallery

Every collective on 4 ranks, and the ring on 8, each from the trace of a real run. `make gallery`
runs them again. The columns are what every chunk holds before the call and after each step; how to
read them stands below each picture.
For moving pictures with times: `mpicoll trace allreduce ring -n 4 --html ring.html`.
"""


def name_of(collective: str, algorithm: str, size: int) -> str:
    """The file of a picture."""
    return f"{collective}-{algorithm}-{size}.svg"


def document() -> str:
    """The text of docs/gallery.md."""
    parts = [HEAD]
    for collective, algorithm, size in PICTURES:
        title = f"{collective} `{algorithm}`, {size} ranks"
        meaning = SPECS[collective].meaning
        parts.append(f"## {title}\n\n{meaning[0].upper()}{meaning[1:]}.\n")
        path = f"gallery/{name_of(collective, algorithm, size)}"
        parts.append(f"![{collective} {algorithm} on {size} ranks, step by step]({path})\n")
    return "\n".join(parts)


def main() -> int:
    """Run, draw, write; 1 if a run was not as planned."""
    parser = argparse.ArgumentParser()
    configure(parser)
    (DOCS / "gallery").mkdir(exist_ok=True)
    for collective, algorithm, size in PICTURES:
        args = parser.parse_args([collective, algorithm, "-n", str(size)])
        trace = record(args, the_algorithm(args, algorithm))
        if trace.problems:
            print(trace.problems[0], file=sys.stderr)
            return 1
        path = DOCS / "gallery" / name_of(collective, algorithm, size)
        path.write_text(picture(trace.calls[0]), encoding="utf-8")
        print(path.relative_to(DOCS.parent), flush=True)
    (DOCS / "gallery.md").write_text(document(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
