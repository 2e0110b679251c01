"""The table of mistakes and what is said of each, on the MPI library of this environment.

python tests/grade/table.py [NUMBER ...] [-v]
"""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from graded import graded, said_of
from planted import NOT_PLANTED, OTHERS, PLANTED


def main() -> int:
    numbers = {int(word) for word in sys.argv[1:] if word.isdigit()}
    plants = [p for p in (*PLANTED, *OTHERS) if not numbers or p.number in numbers]
    named, started = 0, time.monotonic()
    for plant in plants:
        begun = time.monotonic()
        report, text = graded(plant.source, plant.exercise, speed=plant.check == "speed")
        missing = said_of(plant, report, text)
        named += not missing
        verdict = "named" if not missing else "NOT NAMED: " + "; ".join(missing)
        seconds = time.monotonic() - begun
        print(
            f"{plant.number:>3} {plant.mistake:<42} {plant.code:<22} {seconds:5.1f} s  {verdict}",
            flush=True,
        )
        if "-v" in sys.argv or (missing and "-q" not in sys.argv):
            print(text, flush=True)
    for number, why in NOT_PLANTED.items():
        if not numbers:
            print(f"{number:>3} not planted: {why}")
    print(f"{named} of {len(plants)} named, {time.monotonic() - started:.0f} s, {report.library}")
    return 0 if named == len(plants) else 1


if __name__ == "__main__":
    sys.exit(main())
