"""Draw what the programs report: pipelines as Gantt charts, loss curves. Needs matplotlib.

mpirun -n 4 python examples/training/pipeline.py --json pipeline.json
python examples/training/draw.py gantt pipeline.json pipeline.svg
mpirun -n 8 python examples/training/hybrid.py --steps 200 --json hybrid.json
python examples/training/draw.py curves hybrid.json hybrid.svg
"""

import argparse
import json
from pathlib import Path

FORWARD, BACKWARD = "#9ecae1", "#fdae6b"


def plots(rows, columns, height):
    """Make a figure whose text stays text, and whose file depends on its contents alone."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams |= {"svg.fonttype": "none", "svg.hashsalt": "mpicoll", "font.size": 8}
    from matplotlib import pyplot

    return pyplot.subplots(
        rows, columns, figsize=(8, height), layout="constrained", squeeze=False, sharex=columns == 1
    )


def gantt(report):
    """Draw a row for each stage: when it worked on which microbatch, by each schedule."""
    traces = report["traces"]
    figure, axes = plots(len(traces), 1, 0.5 + 1.7 * len(traces))
    for (name, trace), axis in zip(traces.items(), axes[:, 0], strict=True):
        for stage, action, begin, end in trace["spans"]:
            kind, microbatch = action[0], action[1:]
            axis.barh(
                stage,
                1000 * (end - begin),
                left=1000 * begin,
                height=0.8,
                color=FORWARD if kind == "F" else BACKWARD,
                edgecolor="black",
                linewidth=0.4,
            )
            middle = 500 * (begin + end)
            axis.text(middle, stage, microbatch, ha="center", va="center", fontsize=6)
        axis.set_yticks(range(report["ranks"]), [f"stage {s}" for s in range(report["ranks"])])
        axis.invert_yaxis()
        axis.set_title(
            f"{name}: bubble {trace['bubble']:.3f} measured, {trace['formula']:.3f} by formula; "
            f"microbatches kept {trace['kept']}",
            fontsize=8,
        )
    axes[-1, 0].set_xlabel("milliseconds (blue: forward, orange: backward)")
    return figure


def curves(report):
    """Draw the losses of every hybrid over those of one process, and below them the difference."""
    figure, axes = plots(2, len(report["losses"]), 3.6)
    for column, (name, losses) in enumerate(report["losses"].items()):
        single = report["single"][name]
        above, below = axes[:, column]
        above.plot(single, color="#bbbbbb", linewidth=4, label="one process")
        above.plot(losses, color="#c0392b", linewidth=1, label=f"{report['ranks']} ranks")
        above.set_title(f"{name}: loss (nats per character)", fontsize=8)
        above.legend(frameon=False)
        apart = [abs(a - b) / b or 1e-17 for a, b in zip(losses, single, strict=True)]
        below.semilogy(apart, color="#c0392b", linewidth=0.7)
        below.set_title("relative difference (1e-17: none)", fontsize=8)
        below.set_ylim(1e-18, 1e-6)
        below.set_xlabel("step")
    return figure


PICTURES = {"gantt": gantt, "curves": curves}


def save(picture, report, file):
    """Draw a picture of the report in one file into another."""
    figure = PICTURES[picture](json.loads(report.read_text()))
    figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("picture", choices=PICTURES)
    parser.add_argument("report", type=Path, help="what a program wrote by --json")
    parser.add_argument("file", type=Path, help=".svg, .png or .pdf")
    args = parser.parse_args()
    save(args.picture, args.report, args.file)


if __name__ == "__main__":
    main()
