"""`make setup`: says what it does, and nothing when there is nothing to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "setup.sh"


@pytest.fixture
def setup(tmp_path):
    """Runs the script in a checkout with stand-ins of uv and Java; gives what it said."""
    (tmp_path / "tools").mkdir()
    shutil.copy(SCRIPT, tmp_path / "tools")
    (tmp_path / "uv.lock").touch()
    (tmp_path / "pyproject.toml").touch()
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("uv", "mkdir -p .venv"), ("java", "echo 'openjdk version \"17.0.9\"'")):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)

    def run() -> str:
        without = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
        environment = without | {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHON": sys.executable}
        done = subprocess.run(
            ["sh", "tools/setup.sh"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout + done.stderr

    return run


def test_it_says_that_it_installs_and_then_nothing(setup, tmp_path):
    first, *_, last = setup().splitlines()
    assert "installing the packages" in first
    assert last == "setup: done"
    assert setup() == ""
    os.utime(tmp_path / "uv.lock", (2**32, 2**32))  # a newer lock
    assert "installing the packages" in setup()
