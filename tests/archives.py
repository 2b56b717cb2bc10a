"""Unpacks the tar archives of the tests' data."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

_OPTIONS: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.11.4 or newer


def unpack(file: Path, directory: Path) -> None:
    """Unpack an archive into a directory."""
    with tarfile.open(file) as archive:
        archive.extractall(directory, **_OPTIONS)
