"""Starting `mpicoll run` as a user does."""

import os
import subprocess
import sys

from mpicoll.launch.command import clean_environment
from mpicoll.launch.library import find_launcher, find_library


def start(*words, launcher=(), cwd=None, text="", **variables):
    command = [*launcher, sys.executable, "-m", "mpicoll", "run", *map(str, words)]
    return subprocess.run(
        command,
        capture_output=True,
        input=text,
        text=True,
        timeout=120,
        cwd=cwd,
        # Unbuffered, the ranks' words would be mixed within lines.
        env=clean_environment() | {"PYTHONUNBUFFERED": ""} | variables,
    )


def under_mpiexec(n):
    launcher = find_launcher(find_library())
    root = ["--allow-run-as-root"] if launcher.vendor == "openmpi" and os.geteuid() == 0 else []
    many = ["--map-by", ":OVERSUBSCRIBE"] if launcher.vendor == "openmpi" else []
    return [launcher.path, "-n", str(n), *root, *many]
