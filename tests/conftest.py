"""What holds in all tests: a command that runs in the tests' own process ends by `SystemExit`."""

from __future__ import annotations

import sys

import pytest

from tailrace.cli import leaving


@pytest.fixture(autouse=True)
def command_ends_by_system_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "leave", lambda code, waits=True: sys.exit(code))
