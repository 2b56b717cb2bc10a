"""The command `tailrace`, run in this process."""

from __future__ import annotations

import pytest

from kit.suite.command_line import runner


@pytest.fixture
def tailrace(capsys, monkeypatch):
    """Run the command as a user does; return what it printed."""
    return runner(capsys, monkeypatch)
