"""What a learner has done so far: one JSON file in the user's data directory."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from mpicoll.commands import CommandError, Exit

__all__ = ["forget", "note", "path", "read"]


def path() -> Path:
    """Where the file is: ``$XDG_DATA_HOME/mpicoll/course.json``, by default in ~/.local/share."""
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "mpicoll" / "course.json"


def read() -> dict[str, dict[str, Any]]:
    """What is known of each exercise, by name.

    Keys, none of which need be there: "started" and "passed" (times), "folder", "attempts",
    "points" (the best), "hints" (how many were shown), "revealed", "predictions" (by bug).
    """
    try:
        known = json.loads(path().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise CommandError(f"cannot read {path()}: {error}; remove it to start afresh") from None
    if not isinstance(known, dict) or not all(isinstance(one, dict) for one in known.values()):
        raise CommandError(f"{path()} is no record of the course; remove it to start afresh")
    return known


def note(name: str, **facts: Any) -> None:
    """Keep facts about an exercise; True for "started" and "passed" stands for now, once."""
    known = read()
    entry = known.setdefault(name, {})
    for key, value in facts.items():
        if key in ("started", "passed") and value is True:
            entry.setdefault(key, time.strftime("%Y-%m-%d %H:%M"))
        else:
            entry[key] = value
    _write(known)


def forget(name: str | None) -> None:
    """Forget an exercise, or all."""
    known = read()
    if name is None:
        known = {}
    known.pop(name, None)
    _write(known)


def _write(known: dict[str, dict[str, Any]]) -> None:
    file = path()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        # Under a name of its own first: a half-written file must never be read.
        new = file.with_name(f"{file.name}.{os.getpid()}")
        new.write_text(json.dumps(known, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        os.replace(new, file)
    except OSError as error:
        reason = f"cannot keep your progress in {file}: {error.strerror}"
        raise CommandError(
            f"{reason}; set XDG_DATA_HOME to a folder of yours", Exit.ENVIRONMENT
        ) from None
