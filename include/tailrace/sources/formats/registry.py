"""Registry of the file formats, the listing of a source's files, and the types of its columns.

To add a format, add a module here and a line in `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

from tailrace.ground.errors import Problem, as_unfit, refuse
from tailrace.sources.carried_columns import carried_type, holds_all
from tailrace.sources.columns import SourceMapping
from tailrace.sources.discovery.new_files import NewFiles
from tailrace.sources.discovery.open_partitions import OpenPartitions
from tailrace.sources.discovery.source_directory import SingleFile, open_directory
from tailrace.sources.formats.csv_files import CsvFiles
from tailrace.sources.formats.file_format import Format, OtherFiles
from tailrace.sources.formats.json_files import JsonFiles
from tailrace.sources.formats.parquet_files import ParquetFiles
from tailrace.sources.formats.required_columns import MissingColumn, UnknownTypes, missing_optional, unfit_problems
from tailrace.sources.ids_and_keys import id_type, key_type
from tailrace.sources.segments import NULL, SourceFile, Types

FORMATS: dict[str, Format] = {
    "parquet": ParquetFiles(),
    "json": JsonFiles(),
    "csv": CsvFiles(),
}
"""The formats of files, by their names in query files."""

_MOST_FILES = 100
"""If a file lacks a column: the number of other files that are searched for it."""


def list_files(
    path: Path | str, format_name: str, connection: str | None = None, is_log: bool = True
) -> list[SourceFile]:
    """List the files of a source in the order of their paths, without producers' temporary files.

    `path` is a text if it is the URL of an object store, and `connection` is the connection to the store. For a table
    `is_log` is false, as it may be partitioned by any value.

    Raises
    ------
    Refused
        When there is no such file or directory; or when an entry of the directory has no name of the format, is not a
        regular file, or lies outside of the roots allowed for sources.
    """
    source = open_directory(path, format_name, connection, is_log)
    suffixes = ("",) if isinstance(source, SingleFile) else FORMATS[format_name].suffixes
    entries = NewFiles(OpenPartitions(source, (), "", None), suffixes).find(0.0)
    for entry in entries:
        source.require_fit(entry.name)
    return [file for entry in entries if (file := entry.file or source.file(entry.name)) is not None]


@as_unfit()
def merge_types(
    file: SourceFile,
    format_name: str,
    columns: SourceMapping,
    types: Types,
    newest: Callable[[], Types | None] = lambda: None,
    file_format: Format | None = None,
) -> Types:
    """Return the column types of a source up to this file: the types of the files before it, else its own.

    Columns that are null throughout are of the type `NULL`, until a file has a value, see `settled_types`. A Parquet
    file may lack a column that was added to the source after it; `newest` gives the types of the newest file, or of the
    table. `file_format` is the format with its options, if the source declares any.

    Raises
    ------
    Unfit
        When the format refuses the file; when its ids or keys have another type than before; or when the type of a
        carried column has values that the earlier type lacks. A CSV file is refused only when none of its first values
        fits the earlier type; otherwise each unfit record is malformed.
    """
    file_format = file_format or FORMATS[format_name]
    file_types = file_format.types(file, columns, OtherFiles(types, newest)) or types
    known = {name: dtype for name, dtype in types.items() if NULL not in (dtype, file_types.get(name))}
    for part, name in columns.named().items():
        type_of = key_type if part in columns.key_parts else id_type
        if columns.is_name(part) and name in known and type_of(types[name]) != type_of(file_types[name]):
            raise refuse(
                f"{file}: column {name}",
                f"its type is {file_types[name]}, in files before it {types[name]}",
                "one of them",
            )
    for name in columns.free.values():
        if (
            name in known
            and types[name] != file_types[name]
            and not _is_carried_on(types[name], file_types[name], format_name)
        ):
            raise refuse(
                f"{file}: column {name}",
                f"its type is {file_types[name]}, in files before it {types[name]}, which answers have",
                f"{types[name]}, or a type with none but its values",
            )
    return {name: dtype if types.get(name, NULL) == NULL else types[name] for name, dtype in file_types.items()}


def settled_types(types: Types, columns: SourceMapping, newest: Callable[[], Types | None]) -> Types:
    """Return the final types of a source, given the types up to its last file that can be read now.

    A column of answers or of the key that is null there has the type of the newest file; text, if it is null in that
    file too. Return None if a column is null whose value a tuple needs.
    """
    if NULL not in types.values():
        return types
    needed = {name for part, name in columns.named().items() if not columns.may_be_null(part)}
    if any(types[name] == NULL for name in needed):
        return {}
    later = newest() or {}
    dtypes = {name: later.get(name, NULL) if dtype == NULL else dtype for name, dtype in types.items()}
    return {name: "string" if dtype == NULL else dtype for name, dtype in dtypes.items()}


@contextmanager
def all_missing(
    path: Path | str, file_format: Format, columns: SourceMapping, files: Callable[[], Iterable[SourceFile]]
) -> Iterator[None]:
    """Refuse a source if none of its files has a column that single files may lack.

    Raises
    ------
    MissingColumn
        Instead of the refusal of one file, and instead of `UnknownTypes` where such columns exist.
    UnknownTypes
        With the columns that have values, but no fitting one, in any file.
    """
    try:
        yield
    except (MissingColumn, UnknownTypes) as error:
        problems_of_one = error.problems if isinstance(error, MissingColumn) else ()
        looked_at = [*islice(files(), _MOST_FILES if problems_of_one else None)]
        names = set(chain.from_iterable(file_format.names(file, columns) or () for file in looked_at))
        problems = [*problems_of_one, *missing_optional(path, columns, names)]
        if not problems and (unfit := _unfit(path, file_format, columns, looked_at)):
            raise UnknownTypes(unfit) from None
        raise (MissingColumn(problems) if problems else error) from None


def _unfit(path: Path | str, file_format: Format, columns: SourceMapping, files: Iterable[SourceFile]) -> list[Problem]:
    """Return the problems of the columns that have values in a source's files, but no fitting one."""
    values: dict[str, Any] = {}
    for file in files:
        of_file = file_format.unfit(file, columns)
        values |= {
            part: value for part, value in of_file.items() if value is None or values.get(part, value) is not None
        }
    return unfit_problems(str(path), columns, values)


def no_types(path: Path | str, columns: SourceMapping) -> UnknownTypes:
    """Build the refusal of a source whose records don't show the types of the query's columns."""
    names = ", ".join(dict.fromkeys(columns.named().values()))
    fault = f"no record has a value of a fitting type in each of {names}"
    remedy = (
        "times as ISO 8601 text or epoch milliseconds, ids and keys as text or integers, values as numbers; and some "
        "value of each column that answers are to have"
    )
    return UnknownTypes([Problem(str(path), fault, remedy)])


def is_history(format_name: str, columns: SourceMapping) -> bool:
    """Test whether files are a durable log with arrival times; then the stream needs no other history."""
    return FORMATS[format_name].is_log and columns.arrival_time is not None


def _is_carried_on(before: str, later: str, format_name: str) -> bool:
    """Test whether a carried column can continue with a later type, given the types' names.

    If types are inferred from values, each number is checked with its record: 2 may stand for 2.0.
    """
    if not FORMATS[format_name].states_types and ({before, later} == {"int64", "double"} or _are_nested(before, later)):
        return True
    dtype, other = carried_type(before), carried_type(later)
    return dtype is not None and other is not None and holds_all(dtype, other)


def _are_nested(*names: str) -> bool:
    """Return whether names denote structs and lists, whose fields may differ by record."""
    return all(name.startswith(("struct<", "list<")) for name in names)
