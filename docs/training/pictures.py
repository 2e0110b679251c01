"""Draw the pictures of docs/training.md from real runs of the programs of examples/training.

make training-pictures            all of them
make training-pictures ONLY=zero  those whose file name has the word

A picture is a function that takes `report`, which runs a program and gives what it reports.
"""

import importlib
import json
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot

from mpicoll.launch.supervise import run

HERE = Path(__file__).parent
PROGRAMS = HERE.parents[1] / "examples" / "training"
sys.path.insert(0, str(PROGRAMS))
# The same file from the same numbers.
matplotlib.rcParams |= {"svg.hashsalt": "mpicoll", "svg.fonttype": "none", "font.size": 9}


def report(n, program, *words, passes=True):
    """Run a program on `n` ranks and give its report; an error if not all was right."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "report.json"
        argv = [str(PROGRAMS / f"{program}.py"), "--json", str(file), *map(str, words)]
        outcome = run(n, argv, timeout=1800)
        if not file.exists() or (passes and outcome.returncode):
            sys.exit(f"{program} on {n} ranks failed:\n{outcome.output}")
        return json.loads(file.read_text())


def zero():
    """Memory of a rank in the stages of ZeRO, held and promised."""
    figure, axes = pyplot.subplots(figsize=(6, 3), layout="constrained")
    for place, n in enumerate((2, 4, 8)):
        found = report(n, "zero", "--steps", 2)
        for stage, numbers in found["memory"].items():
            x = int(stage) + 0.25 * (place - 1)
            held = axes.bar(x, numbers["held"] / 1e6, 0.22, color=f"C{place}")
            (promised,) = axes.plot(x, numbers["formula"] / 1e6, "k_", markersize=12)
            if stage == "0":
                held.set_label(f"P = {n}")
    promised.set_label("formula")
    axes.set(xlabel="ZeRO stage", ylabel="MB held by rank 0", xticks=range(4))
    axes.legend()
    return figure


def losses():
    """Loss of data-parallel training, and how far it is from one process: with mistakes too."""
    figure, (loss, error) = pyplot.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    words = ("--steps", 60, "--batch", 10)
    right = report(4, "data_parallel", *words)
    curves = {"4 ranks": right["losses"]}
    for mistake in ("broadcast", "tied", "tail"):
        wrong = report(4, "data_parallel", *words, "--mistake", mistake, passes=False)
        curves[f"--mistake {mistake}"] = wrong["losses"]
    loss.plot(right["reference"], color="0.7", linewidth=4, label="one process")
    for color, (label, curve) in enumerate(curves.items()):
        loss.plot(curve, f"C{color}", linewidth=0.8, label=label)
        differences = [
            abs(a - b) / b + 1e-17 for a, b in zip(curve, right["reference"], strict=True)
        ]
        error.semilogy(differences, f"C{color}", linewidth=0.8)
    loss.set(xlabel="step", ylabel="loss")
    error.set(xlabel="step", ylabel="relative difference from one process")
    loss.legend()
    return figure


def volume():
    """Bytes that a rank sends of a long sequence: the program draws them itself."""
    report(8, "volume", "--plot", HERE / "volume.svg")


def pipeline():
    """Gantt charts of both schedules: one step, with equal computation on all stages."""
    return importlib.import_module("draw").gantt(report(4, "pipeline", "--pad", 20, "--steps", 2))


def hybrid():
    """Losses of both hybrids and of one process; some minutes on few cores."""
    words = "--steps 200 --width 32 --length 32 --batch 16".split()
    return importlib.import_module("draw").curves(report(8, "hybrid", *words))


#: Every picture by its file name.
PICTURES = {
    "zero-memory": zero,
    "losses": losses,
    "volume": volume,
    "pipeline": pipeline,
    "hybrid": hybrid,
}


def main():
    """Draw those whose names have the word that was given."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    for name, picture in PICTURES.items():
        if word in name:
            file = HERE / f"{name}.svg"
            figure = picture()
            if figure is not None:
                figure.savefig(file, metadata={"Date": None})
            print(f"{file.name}: {file.stat().st_size} bytes", flush=True)


if __name__ == "__main__":
    main()
