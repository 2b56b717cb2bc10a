"""A temporary folder that is removed with the objects that share it."""

from __future__ import annotations

import shutil
import tempfile
from functools import cached_property
from pathlib import Path
from weakref import finalize


class Scratch:
    """A temporary folder: created at its first use, removed with the last object that holds this one."""

    @cached_property
    def path(self) -> Path:
        """The folder."""
        path = Path(tempfile.mkdtemp(prefix="tailrace-"))
        finalize(self, shutil.rmtree, path, ignore_errors=True)
        return path
