"""Programs of Debian's packages that tests need: found, or installed where that is allowed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def bring(what: str, packages: str, find: Callable[[], Path | None]) -> Path:
    """Return the path that `find` gives, installing packages where it gives none; else the test is red."""
    if found := find():
        return found
    install = f"apt-get update && apt-get install --yes --no-install-recommends {packages}"
    if os.getuid() == 0 and shutil.which("apt-get"):
        with FileLock(Path(tempfile.gettempdir()) / "tailrace-apt.lock"):  # tests run in several processes
            if not find():
                subprocess.run(["sh", "-c", install], check=False)
        if found := find():
            return found
    pytest.fail(f"{what} is missing; type: sudo sh -c '{install}'", pytrace=False)


def strace_installed() -> Path | None:
    """Return the program that traces system calls if it is there."""
    found = shutil.which("strace")
    return Path(found) if found else None


def strace() -> Path:
    """Return the program that traces system calls, installing it where that is allowed."""
    return bring("strace", "strace", strace_installed)
