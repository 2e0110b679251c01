"""Draw docs/ring.svg, the picture in the README, from the plan that runs: python docs/ring.py."""

from pathlib import Path

from mpicoll.analysis.findings import letters
from mpicoll.analysis.symbolic import trace
from mpicoll.registry import find
from mpicoll.steps import Recv, Send

SIZE = 4
CELL, HIGH, GAP, DOWN = 33, 24, 46, 44  # a block; between columns; between rows
LEFT, TOP = 62, 58
COLUMN = SIZE * CELL + GAP
SHADES = ["#ffffff", "#eef3f8", "#d5e3f0", "#b3cde3", "#fdd49e"]  # by contributors; last: complete


def states() -> tuple[list, list]:
    """What every rank holds of each block after every round, and which messages got it there."""
    algorithm = find("allreduce", "ring")
    proof, values = trace(algorithm, SIZE)
    assert proof.ok
    held = [[(rank,)] * SIZE for rank in range(SIZE)]
    columns, messages = [[list(row) for row in held]], []
    for number in range(proof.rounds):
        for rank in range(SIZE):
            for index, step in enumerate(algorithm.plan(rank, SIZE)[number]):
                into = step[-1]
                if isinstance(step, Send):
                    messages.append((number, rank, step.peer, into.blocks[0]))
                elif not (isinstance(step, Recv) and into.buffer.scratch):
                    held[rank][into.blocks[0]] = values[rank, number, index][0][1]
        columns.append([list(row) for row in held])
    return columns, messages


def place(column: int, rank: int, block: int) -> tuple[int, int]:
    """The upper left corner of a block."""
    return LEFT + column * COLUMN + block * CELL, TOP + rank * (HIGH + DOWN)


def picture() -> str:
    """The SVG text."""
    columns, messages = states()
    width, height = LEFT + len(columns) * COLUMN, TOP + SIZE * (HIGH + DOWN) + 34
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="11">',
        "<title>Ring allreduce on 4 ranks: what each block holds after every round</title>",
        '<defs><marker id="tip" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" '
        'markerHeight="6" orient="auto"><path d="M0 0L6 3L0 6z" fill="#c0392b"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]

    def text(x: float, y: float, words: str, extra: str = "") -> None:
        out.append(f'<text x="{x:g}" y="{y:g}" {extra}>{words}</text>')

    for rank in range(SIZE):
        text(8, place(0, rank, 0)[1] + 16, f"rank {rank}")
    half = (len(columns) - 1) // 2
    text(place(1, 0, 0)[0], 18, "every block is combined on its way around", 'font-weight="bold"')
    text(place(half + 1, 0, 0)[0], 18, "and handed out on a second way", 'font-weight="bold"')
    for column, rows in enumerate(columns):
        text(place(column, 0, 0)[0], 42, f"round {column}" if column else "before", 'fill="#555"')
        for rank, row in enumerate(rows):
            for block, ranks in enumerate(row):
                x, y = place(column, rank, block)
                new = column and ranks != columns[column - 1][rank][block]
                line = 'stroke="#c0392b" stroke-width="2"' if new else 'stroke="#999"'
                out.append(
                    f'<rect x="{x}" y="{y}" width="{CELL - 3}" height="{HIGH}" rx="3" '
                    f'fill="{SHADES[len(ranks)]}" {line}/>'
                )
                word = "".join(letters(contributor) for contributor in ranks)
                text(x + CELL / 2 - 1.5, y + 16, word, 'text-anchor="middle" font-size="10"')
    for number, rank, peer, block in messages:
        x, y = place(number, rank, block)
        to_x, to_y = place(number + 1, peer, block)
        start = y if peer < rank else y + HIGH
        end = to_y + HIGH + 2 if peer < rank else to_y - 2
        out.append(
            f'<line x1="{x + CELL / 2 - 1.5:g}" y1="{start}" x2="{to_x + CELL / 2 - 1.5:g}" '
            f'y2="{end}" stroke="#c0392b" stroke-opacity="0.45" marker-end="url(#tip)"/>'
        )
    text(
        8,
        height - 12,
        "Each box is one of a vector's 4 blocks. A, B, C, D: the contributions of ranks 0 to 3, in "
        "the order of combination. Red: the message of a round, and the block that it changed.",
        'fill="#555"',
    )
    return "\n".join([*out, "</svg>"]) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("ring.svg").write_text(picture())
