"""Run mpi4py's demo programs natively and by `mpicoll run`: they must print and return the same.

python tests/compat/demos.py [-n P]      the demos are in the source distribution, see run.py
"""

import argparse
import os
import re
import subprocess
import sys

from run import downloaded

# What rank 0 reads, for programs that ask.
TYPED = {"compute-pi/cpi-cco.py": "200\n0\n", "compute-pi/cpi-rma.py": "200\n0\n"}
DEMOS = (
    "helloworld.py",
    "compute-pi/cpi-*.py",
    "mandelbrot/mandelbrot.py",
    "reductions/test_reductions.py",
    "sequential/test_seq.py",
    "nxtval/nxtval-*.py",
    "mpi-ref-v1/ex-*.py",
    "threads/sendrecv.py",
    "init-fini/test_*.py",
)
#: These spawn processes and talk to them, which run on native collectives either way.
NOT_HERE = {"compute-pi/cpi-dpm.py", "nxtval/nxtval-dynproc.py"}
#: What differs from run to run: durations, and process or thread numbers.
VARIES = re.compile(r"\d+\.\d+ ?s(econds)?\b.*|(mean|min|max|sum): +\d+\.\d+|0x[0-9a-f]+")


def printed(path, n, mode, typed):
    """Status and lines of a program, in an order that does not depend on the ranks' speed."""
    command = [sys.executable, "-m", "mpicoll", "run", "-n", str(n), "--timeout", "120", *mode]
    done = subprocess.run(
        [*command, path.name],
        cwd=path.parent,
        input=typed,
        capture_output=True,
        text=True,
        # Unbuffered, the ranks' words would be mixed within lines.
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    )
    lines = [VARIES.sub("", line) for line in (done.stdout + done.stderr).splitlines()]
    return done.returncode, sorted(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=3, metavar="P", help="default: %(default)s")
    args = parser.parse_args()
    folder = downloaded().parent / "demo"
    paths = sorted(path for pattern in DEMOS for path in folder.glob(pattern))
    bad = 0
    for path in paths:
        name = str(path.relative_to(folder))
        if name in NOT_HERE:
            continue
        native, ours = (
            printed(path, args.n, mode, TYPED.get(name, "")) for mode in (["--native"], [])
        )
        same = native == ours
        bad += not same
        print(f"{name:<40} status {native[0]}  {'same' if same else 'DIFFERS'}", flush=True)
        if not same:
            print(f"  native {native}\n  ours   {ours}")
    print(f"{len(paths)} programs, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
