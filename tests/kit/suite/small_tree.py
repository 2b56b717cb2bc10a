"""A small tree of tests with the plugins of this one: how tests are chosen, handed out and recorded, in a process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[2]


class SmallTree:
    """A directory with the plugins, where pytest runs.

    Attributes
    ----------
    directory : Path
    """

    def __init__(self, directory: Path, **files: str) -> None:
        self.directory = directory
        shutil.copy(TESTS / "conftest.py", directory)
        shutil.copytree(
            TESTS / "kit" / "suite", directory / "kit" / "suite", ignore=shutil.ignore_patterns("__pycache__")
        )
        (directory / "pytest.ini").write_text("[pytest]\nmarkers =\n    needs(part): x\n    gate: x\n")
        (directory / "durations.json").write_text("{}")
        self.write(**files)

    def write(self, **files: str) -> None:
        """Write files of tests, by their names without `test_` and `.py`."""
        for name, text in files.items():
            (self.directory / f"test_{name}.py").write_text(text)

    def run(self, *options: str) -> tuple[int, str]:
        """Run pytest; return its exit code and what it printed."""
        return self.python("-m", "pytest", "-v", "-s", "-p", "no:cacheprovider", "--rootdir", ".", *options)

    def python(self, *words: str) -> tuple[int, str]:
        """Run Python in the directory; return its exit code and what it printed."""
        ended = subprocess.run(
            [sys.executable, *words],
            cwd=self.directory,
            env=os.environ | {"PYTHONPATH": f"{self.directory}{os.pathsep}{TESTS.parent / 'include'}"},
            capture_output=True,
            text=True,
            check=False,
        )
        return ended.returncode, ended.stdout + ended.stderr


def several(processes: int) -> list[str]:
    """Return the options by which so many processes run units of tests."""
    return ["-n", str(processes), "--dist", "loadgroup", "--no-loadscope-reorder"]
