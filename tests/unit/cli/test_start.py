"""Ctrl-C while the command loads ends it with one line and 130."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.needs("process")

INTERRUPTED_WHILE_IT_LOADS = """
import os, signal, sys


class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "tailrace.cli.commands":
            os.kill(os.getpid(), signal.SIGINT)


sys.meta_path.insert(0, Interrupting())
from tailrace.cli.start import main

main()
"""


def test_an_interruption_while_the_command_loads_is_one_line():
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_WHILE_IT_LOADS, "--version"], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "interrupted: nothing had begun\n")
