"""The commands of tools/dev.py, run in this process."""

from __future__ import annotations

import pytest

from command_line import runner
from dev import DEV


@pytest.fixture
def dev(capsys, monkeypatch):
    """Run the command as a developer does; return what it printed."""
    return runner(capsys, monkeypatch, DEV)
