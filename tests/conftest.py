"""What holds in all tests: commands in the tests' own process end by `SystemExit`, and no example has a deadline."""

from __future__ import annotations

import sys

import pytest
from hypothesis import settings

from tailrace.cli import leaving

settings.register_profile("busy", deadline=None)  # a busy machine makes no test red
settings.load_profile("busy")


@pytest.fixture(autouse=True)
def command_ends_by_system_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "leave", lambda code, waits=True: sys.exit(code))
