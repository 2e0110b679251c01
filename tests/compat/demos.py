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
#: What differs from run to run: durations, addresses, process numbers.
VARIES = re.compile(
    r"\d+\.\d+ ?s(econds)?\b.*|(mean|min|max|sum): +\d+\.\d+|0x[0-9a-f]+"
    r"|^\[\w+:\d+\] .*"  # Open MPI about itself
    r"|^\.+"  # unittest, test by test: no end of line, so another rank's line may follow
)


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
        env=os.environ | {"PYTHONUNBUFFERED": ""},
    )
    lines = (VARIES.sub("", line) for line in (done.stdout + done.stderr).splitlines())
    return done.returncode, sorted(line for line in lines if line.strip())


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
        failed, same = native[0] != 0, native == ours
        verdict = "same" if same else "fails natively" if failed else "DIFFERS"
        bad += verdict == "DIFFERS"
        print(f"{name:<40} {verdict}", flush=True)
        if verdict == "DIFFERS":
            print(f"  native {native}\n  ours   {ours}")
    print(f"{len(paths)} programs, {bad} differ")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
