"""The command `tailrace`, run in this process."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest

from tailrace.cli.commands import main


@dataclass(frozen=True)
class Output:
    stdout: str
    stderr: str


@pytest.fixture
def tailrace(capsys, monkeypatch):
    """Run the command as a user does; return what it printed."""

    def run(*arguments: object, code: int = 0) -> Output:
        monkeypatch.setattr(sys, "argv", ["tailrace", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "160")
        monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)  # the command sets one of its own
        with pytest.raises(SystemExit) as exit_info:
            main()
        output = Output(*capsys.readouterr())
        assert (exit_info.value.code or 0) == code, output
        return output

    return run
