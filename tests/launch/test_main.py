"""The command line itself: laziness, messages and exit statuses."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from mpicoll import commands
from mpicoll.__main__ import main
from mpicoll.commands import CommandError
from mpicoll.launch import LaunchError


@pytest.fixture
def command(monkeypatch):
    """Put a command ``fake`` into the table whose run does as told."""

    def put(run):
        module = SimpleNamespace(configure=lambda parser: parser.add_argument("-n"), run=run)
        monkeypatch.setitem(commands.COMMANDS, "fake", ("fake", "does as told"))
        monkeypatch.setitem(sys.modules, "mpicoll.commands.fake", module)

    return put


def failing(error):
    def run(args):
        raise error

    return run


def test_arguments_reach_the_command_and_its_status_comes_back(command):
    seen = []
    command(lambda args: seen.append(args.n) or 1)
    assert main(["fake", "-n", "4"]) == 1
    assert seen == ["4"]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (CommandError("no such thing", 1), 1),
        (CommandError("no such thing"), 2),
        (LaunchError("no such thing"), 3),
        (CommandError("no such thing", 124), 124),
    ],
)
def test_errors_are_one_line(command, capsys, error, status):
    command(failing(error))
    assert main(["fake"]) == status
    assert capsys.readouterr() == ("", "mpicoll: no such thing\n")


def test_unexpected_errors_keep_their_traceback(command):
    command(failing(ZeroDivisionError()))
    with pytest.raises(ZeroDivisionError):
        main(["fake"])


@pytest.mark.parametrize("argv", [[], ["no-such-command"], ["fake", "--odd"]])
def test_wrong_usage(command, capsys, argv):
    command(lambda args: 0)
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    assert "usage: mpicoll" in capsys.readouterr().err


def test_help_lists_the_commands_without_importing_them(command, capsys, monkeypatch):
    monkeypatch.setattr(commands, "load", failing(AssertionError("imported")))
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    for name in commands.COMMANDS:
        assert name in out


def test_starting_loads_no_mpi():
    code = "import sys, mpicoll.__main__; sys.exit('mpi4py.MPI' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_every_command_exists():
    for name in commands.COMMANDS:
        module = commands.load(name)
        assert callable(module.configure) and callable(module.run)
