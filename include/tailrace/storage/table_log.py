"""Reads the log of a Delta table by its file names, which is cheaper than opening the table."""

from __future__ import annotations

from pathlib import Path

from tailrace.ground.files.object_path import Location

Commit = tuple[int, object]
"""A commit of a table: its version, and a stamp of its file, which differs in a recreated table."""


def newest_commit(path: Location) -> Commit | None:
    """Return the newest commit of a Delta table, by the files in its log; None where there is no table."""
    try:
        files = [file for file in (path / "_delta_log").iterdir() if file.name[0].isdigit()]
    except FileNotFoundError:
        return None
    if not files:
        return None
    newest = max(files, key=lambda file: (_version(file), file.name))
    return _version(newest), stamp(newest)


def stamp(file: Location) -> object:
    """Return a value that changes when a file is written; None where it does not exist."""
    if not isinstance(file, Path):
        stored = file.stored()
        return None if stored is None else stored.version
    try:
        stat = file.stat()
    except FileNotFoundError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ctime_ns


def _version(file: Location) -> int:
    return int(file.name.split(".")[0])
