"""The commands of tools/dev.py: their examples, their interruption, and what is refused before anything starts."""

from __future__ import annotations

import signal

import pytest

import checkout_commands
from checkout_commands import DEV
from kit.suite.command_line import runner


@pytest.fixture
def dev(capsys, monkeypatch):
    """Run a command as a developer does; return what it printed."""
    return runner(capsys, monkeypatch, DEV)


@pytest.fixture
def handlers():
    """Restore the signal handlers after the test."""
    numbers = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
    previous = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in previous.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("command", ["demo", "bench", "replay", "frames"])
def test_help_has_an_example(dev, command):
    assert f"Example: .venv/bin/python tools/dev.py {command} " in dev(command, "--help").stdout


def test_a_url_is_no_directory_of_the_demonstration(dev, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    told = dev("demo", "--warehouse", "s3://bucket/x", code=2).stderr
    assert "s3://bucket/x: it is a URL" in " ".join(told.split())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("demo", "nothing of it runs any more"),
        ("frames", "nothing is written"),
        ("replay", "no file of it stays; what a topic has of it does, and the same command sends all again"),
        ("bench", "what is committed stays, and the same command goes on from there"),
    ],
)
def test_an_interruption_says_what_remains(handlers, capsys, monkeypatch, command, message):
    def interrupted(**_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    program = checkout_commands.Program(DEV.name, interrupted, DEV.after_interruption)
    told = runner(capsys, monkeypatch, program)(command, code=130).stderr
    assert " ".join(told.split()) == f"interrupted: {message}"
