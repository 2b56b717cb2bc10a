"""Segments: the pieces of a stream's log, in order. A directory of files is one source partition, by file name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.errors import refuse
from tailrace.streams.check import Columns

Types = dict[str, str]
"""The Arrow type, by name, of each of the source's columns that a query reads."""


@dataclass(frozen=True)
class Segment:
    """`rows` records of a file from its record `first_row` on.

    Attributes
    ----------
    ordinal, position : int
        Its place in the log: how many segments, and how many records, are before it.
    ingested_ms : int or None
        The arrival time of its records where they bring none.
    """

    path: str
    first_row: int
    rows: int
    ordinal: int = 0
    position: int = 0
    ingested_ms: int | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Broken:
    """A record that is not even one: its row in the segment, why, and its text."""

    row: int
    reason: str
    record: str


@dataclass(frozen=True)
class Raw:
    """What a segment holds: the records that could be read, their rows, and the broken ones."""

    table: pa.Table
    row: NDArray[np.int64]
    broken: list[Broken]


class Format(Protocol):
    """A way to store a stream as files."""

    suffixes: tuple[str, ...]

    def types(self, path: Path, columns: Columns) -> Types | None:
        """The types of the columns that are read; None from a file without records.

        Raises
        ------
        Refused
            When a column is missing or of a type that no tuple can come from, or the file is unreadable.
        """

    def split(self, path: Path) -> list[Segment]:
        """The file's segments, in order."""

    def read(self, segment: Segment, types: Types) -> Raw:
        """The columns of `types`, of every record."""

    def records(self, segment: Segment, rows: Sequence[int]) -> list[str]:
        """The given records as text, as they stand in the file."""


def formats() -> dict[str, Format]:
    """The registry: a new format is a file beside this one and a line here."""
    from tailrace.streams.json_files import JsonFiles
    from tailrace.streams.parquet_files import ParquetFiles

    return {"parquet": ParquetFiles(), "json": JsonFiles()}


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
    suffixes = formats()[format_name].suffixes
    found = [file for file in path.iterdir() if file.is_file() and file.name[0] not in "._"]
    strange = sorted(file.name for file in found if file.suffix not in suffixes)
    if strange:
        raise refuse(
            f"{path}/{strange[0]}", f"this is no {format_name} file by its name", f"only files named *{' or *'.join(suffixes)}"
        )
    return sorted(found, key=lambda file: file.name)


def require(path: Path, columns: Columns, present: Sequence[str]) -> None:
    """Refuse a file that lacks a column."""
    for part, name in columns.named().items():
        if name not in present:
            raise refuse(
                f"{path}", f"it has no column {name!r}, which the query names as {part}", f"one of {', '.join(sorted(present))}"
            )
