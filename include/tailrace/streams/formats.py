"""The registry of file formats, and a source's files: a new format is a file beside these and a line here."""

from __future__ import annotations

from pathlib import Path

from tailrace.errors import refuse
from tailrace.streams.json_files import JsonFiles
from tailrace.streams.parquet_files import ParquetFiles
from tailrace.streams.segments import Format

FORMATS: dict[str, Format] = {"parquet": ParquetFiles(), "json": JsonFiles()}


def list_files(path: Path, format_name: str) -> list[Path]:
    """The files of a source in the order of their names; hidden ones, and those that start with `_`, are not its.

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
    deeper = sorted(file.name for file in path.iterdir() if file.is_dir() and file.name[0] not in "._")
    if deeper:
        raise refuse(f"{path}/{deeper[0]}", "this is a directory", "files only: their names tell the order of the log")
    found = [file for file in path.iterdir() if file.is_file() and file.name[0] not in "._"]
    strange = sorted(file.name for file in found if file.suffix not in suffixes)
    if strange:
        raise refuse(
            f"{path}/{strange[0]}",
            f"this is no {format_name} file by its name",
            f"only files named *{' or *'.join(suffixes)}",
        )
    return sorted(found, key=lambda file: file.name)
