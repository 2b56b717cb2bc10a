"""The commands of tools/dev.py, run in this process."""

from __future__ import annotations

import pytest

from checkout_commands import DEV
from kit.suite.command_line import runner


@pytest.fixture
def dev(capsys, monkeypatch):
    """Run the command as a developer does; return what it printed."""
    return runner(capsys, monkeypatch, DEV)
