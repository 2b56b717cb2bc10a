"""A command line, run in this process as a person runs it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tailrace.cli.commands import Program, main


@dataclass(frozen=True)
class Output:
    stdout: str
    stderr: str


def runner(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, program: Program | None = None
) -> Callable[..., Output]:
    """Return a function that runs a program, `tailrace` by default, and returns what it printed."""

    def run(*arguments: object, code: int = 0) -> Output:
        monkeypatch.setattr(sys, "argv", [program.name if program else "tailrace", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "160")
        monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)  # the command sets one of its own
        with pytest.raises(SystemExit) as exit_info:
            main(program=program)
        output = Output(*capsys.readouterr())
        assert (exit_info.value.code or 0) == code, output
        return output

    return run


def call(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    """Run a command in this process; it must succeed."""
    monkeypatch.setattr(sys, "argv", ["tailrace", *words])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code in (0, None)
