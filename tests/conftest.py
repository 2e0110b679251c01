"""What tests of several folders share is imported from here: `reference`, `made`, `browser`."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "browser")]
