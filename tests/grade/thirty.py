"""Thirty submissions of ring_allreduce, right ones in many styles and wrong ones, graded.

python tests/grade/thirty.py [-n P,...]
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from planted import PLANTED
from programs import RIGHT

WRONG = (11, 12, 24, 25, 34, 48, 50, 52, 54, 56)
SUBMISSIONS = 30


def main() -> int:
    wrong = {f"wrong_{p.number}": p.source for p in PLANTED if p.number in WRONG}
    right = {f"right_{name}": source for name, source in RIGHT.items()}
    chosen = dict([*right.items()][: SUBMISSIONS - len(wrong)]) | wrong
    with tempfile.TemporaryDirectory() as folder:
        for name, source in chosen.items():
            (Path(folder) / f"{name}.py").write_text(source)
        command = [sys.executable, "-m", "mpicoll", "grade", folder, "--exercise", "ring_allreduce"]
        command += ["--quiet", "--no-speed", "--json", f"{folder}/results.json", *sys.argv[1:]]
        started = time.monotonic()
        subprocess.run(command, check=False)
        seconds = time.monotonic() - started
        results = json.loads((Path(folder) / "results.json").read_text())["submissions"]
    false = [s["file"] for s in results if s["passed"] != Path(s["file"]).stem.startswith("right_")]
    print(
        f"{len(results)} submissions, {len(right)} styles of right ones, {len(wrong)} wrong: "
        f"{len(false)} false verdicts {false}, {seconds:.0f} s, {results[0]['library']}"
    )
    return 1 if false else 0


if __name__ == "__main__":
    sys.exit(main())
