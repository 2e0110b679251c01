"""Files that survive, and files that a stranger wrote."""

import errno
import json
import os

import pytest

from mpicoll import files
from mpicoll.files import FileError, Lines, read_json, write_text


@pytest.mark.parametrize(
    "text, message",
    [
        ("{", "is no table: Expecting property name"),
        ("[" * 100_000, "is no table"),
        ('{"x": NaN}', "NaN is no number in JSON"),
        ("1" * 5000, "is no table"),
        (b"\xff\xfe\xfa", "is no table"),
        ("[" + "1," * 5000 + "1]", "longer than 9000 bytes"),
    ],
)
def test_what_is_no_json_is_refused_in_a_sentence(tmp_path, text, message):
    path = tmp_path / "it.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    limit = 9000 if "longer" in message else 1 << 20
    with pytest.raises(FileError, match=message) as caught:
        read_json(path, "table", limit)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)


def test_what_cannot_be_read(tmp_path):
    with pytest.raises(FileError, match=r"cannot read .*No such file"):
        read_json(tmp_path / "none", "table", 10)
    with pytest.raises(FileError, match=r"cannot read .*Is a directory"):
        read_json(tmp_path, "table", 10)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "it.json"
    write_text(path, "old")
    link = tmp_path / "link"
    link.symlink_to(path)
    write_text(link, "new")
    assert path.read_text() == "new" and link.is_symlink()

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_text(path, "x" * 100)
    assert path.read_text() == "new" and sorted(os.listdir(tmp_path)) == ["it.json", "link"]


def test_what_is_no_file_is_written_to(tmp_path):
    write_text("/dev/null", "text")
    assert not os.path.isfile("/dev/null")


def test_lines_are_added_whole(tmp_path, monkeypatch):
    path = tmp_path / "lines"
    for number in (1, 2):
        lines = Lines(path)
        lines.add({"number": number})
        lines.close()
    path.write_text(path.read_text() + '{"torn": ')
    lines = Lines(path)
    lines.add({"number": 3})

    real = os.write

    def short(descriptor, data):
        """A disk that takes 5 bytes more."""
        if len(data) < 10:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(descriptor, data[:5])

    monkeypatch.setattr(files.os, "write", short)
    with pytest.raises(OSError, match="No space left"):
        lines.add({"number": 4})
    monkeypatch.undo()
    lines.add({"number": 5})
    lines.close()
    found = path.read_text().splitlines()
    assert found[2] == '{"torn": '
    assert [json.loads(line)["number"] for line in found if "torn" not in line] == [1, 2, 3, 5]
