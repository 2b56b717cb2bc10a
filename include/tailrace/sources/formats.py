"""The registry of file formats, and a source's files: a new format is a file beside these and a line here."""

from __future__ import annotations

import os
from pathlib import Path

from tailrace.ground.errors import refuse
from tailrace.sources.check import Columns
from tailrace.sources.json_files import JsonFiles
from tailrace.sources.parquet_files import ParquetFiles
from tailrace.sources.segments import Format

_PARQUET = ParquetFiles()
FORMATS: dict[str, Format] = {"parquet": _PARQUET, "json": JsonFiles(), "delta": _PARQUET, "replay": _PARQUET}

_UNFINISHED = (".tmp", ".crc", ".inprogress")
"""Endings of what producers write beside their files; so are names that begin with `.` or `_`."""


def list_files(path: Path, format_name: str) -> list[Path]:
    """The files of a source in the order of their names, without what a producer keeps beside them.

    Raises
    ------
    Refused
        When there is no such file or directory.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise refuse(str(path), "there is no such file or directory", f"a {format_name} file or a directory of them")
    suffixes = FORMATS[format_name].suffixes
    with os.scandir(path) as entries:  # asks the file system no more than once, however many there are
        found = sorted((entry for entry in entries if _is_of_source(entry.name)), key=lambda entry: entry.name)
    deeper = [entry.name for entry in found if entry.is_dir()]
    if deeper:
        raise refuse(f"{path}/{deeper[0]}", "this is a directory", "files only: their names tell the order of the log")
    strange = [entry.name for entry in found if not entry.name.endswith(suffixes)]
    if strange:
        raise refuse(
            f"{path}/{strange[0]}",
            f"this is no {format_name} file by its name",
            f"only files named *{' or *'.join(suffixes)}",
        )
    return [path / entry.name for entry in found]


def is_history(format_name: str, columns: Columns) -> bool:
    """Whether a source is a durable log with arrival times: then it is the stream's history itself."""
    return format_name != "json" and columns.arrival_time is not None


def _is_of_source(name: str) -> bool:
    return name[0] not in "._" and not name.endswith(_UNFINISHED)
