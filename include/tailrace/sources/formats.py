"""Registry of the file formats, the listing of a source's files, and the types of its columns.

A new format is a module beside these and a line in `FORMATS`.
"""

from __future__ import annotations

import os
from pathlib import Path

from tailrace.ground.errors import Refused, as_unfit, refuse
from tailrace.ground.source_roots import VARIABLE, outside_roots
from tailrace.sources.carried_columns import carried_type, holds_all
from tailrace.sources.check import Columns
from tailrace.sources.csv_files import CsvFiles
from tailrace.sources.json_files import JsonFiles
from tailrace.sources.object_files import find_object, list_objects
from tailrace.sources.parquet_files import ParquetFiles
from tailrace.sources.segments import Format, SourceFile, Types, is_integer

_PARQUET, _CSV = ParquetFiles(), CsvFiles()
FORMATS: dict[str, Format] = {
    "parquet": _PARQUET,
    "json": JsonFiles(),
    "csv": _CSV,
    "delta": _PARQUET,
    "replay": _PARQUET,
}

_TEXT_FORMATS = ("json", "csv")
"""Formats whose files don't state the types of columns, and may go once they were read."""

_SKIPPED_SUFFIXES = (".tmp", ".crc", ".inprogress")
"""Suffixes of what producers write beside their files; names that begin with `.` or `_` are skipped, too."""


def list_files(path: Path | str, format_name: str, connection: str | None = None) -> list[SourceFile]:
    """List the files of a source in the order of their names, without what producers write beside them.

    `path` is a text where it is the URL of an object store, and `connection` that to the store.

    Raises
    ------
    Refused
        When there is no such file or directory, or something in the directory is no file of the format by its name;
        when one of them lies outside of the roots that sources have: it may have become a symbolic link.
    """
    if (outside_path := outside_roots(path)) is not None:
        raise Refused([outside_path])
    if isinstance(path, str):
        return _list_objects(path, format_name, connection)
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise refuse(str(path), "there is no such file or directory", f"a {format_name} file or a directory of them")
    with os.scandir(path) as entries:  # one request to the file system, however many files there are
        listing = sorted((entry for entry in entries if _is_of_source(entry.name)), key=lambda entry: entry.name)
    names = [entry.name for entry in listing]
    _require_names(str(path), names, [entry.name for entry in listing if entry.is_dir()], format_name)
    if VARIABLE in os.environ:
        problems = [outside_roots(path / entry.name) for entry in listing if entry.is_symlink()]
        if outside := [problem for problem in problems if problem is not None]:
            raise Refused(outside)
    return [path / entry.name for entry in listing]


def _list_objects(url: str, format_name: str, connection: str | None) -> list[SourceFile]:
    objects, directories = list_objects(url, connection)
    if not objects and not directories:
        if (single := find_object(url, connection)) is None:
            raise refuse(url, "there is no such object, and none below it", f"a {format_name} file or a directory")
        return [single]
    listing = sorted((file for file in objects if _is_of_source(file.name)), key=lambda file: file.name)
    subdirectories = sorted(filter(_is_of_source, directories))
    _require_names(url, [*(file.name for file in listing), *subdirectories], subdirectories, format_name)
    return [*listing]


def _require_names(where: str, names: list[str], subdirectories: list[str], format_name: str) -> None:
    """Refuse a directory with another one in it, or with a file that is none of the format by its name."""
    if subdirectories:
        raise refuse(
            f"{where}/{subdirectories[0]}", "this is a directory", "files only: their names tell the order of the log"
        )
    suffixes = FORMATS[format_name].suffixes
    others = [name for name in names if not name.endswith(suffixes)]
    if others:
        raise refuse(
            f"{where}/{others[0]}",
            f"this is no {format_name} file by its name",
            f"only files named *{' or *'.join(suffixes)}",
        )


@as_unfit()
def merge_types(file: SourceFile, format_name: str, columns: Columns, types: Types) -> Types:
    """Return the column types of a source up to this file: those of the files before it, else its own.

    Raises
    ------
    Unfit
        When the format refuses the file; when its ids or keys are integers and those before it are not, or the
        reverse; or when a carried column has a type here with values that the one before it has not. Of CSV only when
        no value of the first ones has the type before it: else records with another are malformed, each alone.
    """
    is_csv = format_name == "csv"
    file_types = (_CSV.types(file, columns, types) if is_csv else FORMATS[format_name].types(file, columns)) or types
    for part in ("id", "key"):
        name = columns.named().get(part)
        if name and types and is_integer(types[name]) != is_integer(file_types[name]):
            raise refuse(
                f"{file}: column {name}",
                f"its type is {file_types[name]}, in files before it {types[name]}",
                "one of them",
            )
    for name in columns.carried.values():
        if types and not _is_carried_on(types[name], file_types[name], format_name):
            raise refuse(
                f"{file}: column {name}",
                f"its type is {file_types[name]}, in files before it {types[name]}, which answers have",
                f"{types[name]}, or a type with none but its values",
            )
    return types or file_types


def is_history(format_name: str, columns: Columns) -> bool:
    """True if a source is a durable log with arrival times, and so the stream's history itself."""
    return format_name not in (*_TEXT_FORMATS, "kafka") and columns.arrival_time is not None


def _is_carried_on(before: str, later: str, format_name: str) -> bool:
    """Whether a carried column can go on with a later type, given their names.

    In JSON and CSV each number is judged by its record: 2 may stand for 2.0.
    """
    if format_name in _TEXT_FORMATS and {before, later} == {"int64", "double"}:
        return True
    kind, other = carried_type(before), carried_type(later)
    return kind is not None and other is not None and holds_all(kind, other)


def _is_of_source(name: str) -> bool:
    return name[0] not in "._" and not name.endswith(_SKIPPED_SUFFIXES)
