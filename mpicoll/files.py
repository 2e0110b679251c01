"""Files that are written so that they survive, and read as if a stranger had written them."""

from __future__ import annotations

import contextlib
import json
import os
import stat

__all__ = ["FileError", "Lines", "read_json", "write_text"]


class FileError(ValueError):
    """A file that cannot be read, or is not what it should be; the message says which and why."""


def read_json(path: str | os.PathLike[str], what: str, most_bytes: int) -> object:
    """What a JSON file holds.

    Args:
        path: of the file.
        what: the file should be, such as "tuning table".
        most_bytes: a longer file is not read.

    Raises:
        FileError: it cannot be read, is longer, or is no JSON. NaN and infinity are none.
    """
    path = os.fspath(path)
    try:
        with open(path, "rb") as file:
            text = file.read(most_bytes + 1)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}") from None
    if len(text) > most_bytes:
        raise FileError(f"{path} is longer than {most_bytes} bytes: this is no {what}")
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} is no {what}: {error}") from None


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number in JSON")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file that appears whole or not at all; what was there stays until then.

    Raises:
        OSError: and nothing is left of the attempt.
    """
    # Through a link, as a plain write would go; and what is no file (a pipe, /dev/null) has no
    # other name.
    path = os.path.realpath(path)
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return
    temporary = f"{path}.{os.getpid()}.tmp"
    try:
        with open(temporary, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


class Lines:
    """A file to which records are added, a line of JSON each; whatever happens, lines are whole.

    Raises:
        OSError: the file cannot be opened, or, in `add`, written; the lines before are kept.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        facts = os.fstat(self._file)
        self._regular = stat.S_ISREG(facts.st_mode)
        # What was killed while it wrote may have left a part of a line.
        if self._regular and facts.st_size:
            if os.pread(self._file, 1, facts.st_size - 1) != b"\n":
                os.write(self._file, b"\n")

    def add(self, record: object) -> None:
        """Add a record; it is on the disk when this returns."""
        data = json.dumps(record).encode() + b"\n"
        end = os.fstat(self._file).st_size
        try:
            while data:
                data = data[os.write(self._file, data) :]
            if self._regular:
                os.fsync(self._file)
        except OSError:
            if self._regular:
                os.ftruncate(self._file, end)
            raise

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
