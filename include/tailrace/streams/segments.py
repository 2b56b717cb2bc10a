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


def is_integer(type_name: str) -> bool:
    """Whether a type of `Types` is one of the integers."""
    return type_name.startswith(("int", "uint"))


@dataclass(frozen=True)
class Segment:
    """`rows` records of a file from its record `first_row` on.

    Attributes
    ----------
    ordinal, position : int
        Its place in the log: how many segments, and how many records, are before it.
    ingested_ms : int or None
        The arrival time of its records where they bring none.
    size, of_rows : int
        The file's size in bytes, and how many records it has in all.
    version : int
        The version of the table that brought the file; 0 where the source is no table.
    """

    path: str
    first_row: int
    rows: int
    ordinal: int = 0
    position: int = 0
    ingested_ms: int | None = None
    size: int = 0
    of_rows: int = 0
    version: int = 0

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

    @property
    def suffixes(self) -> tuple[str, ...]:
        """How its files' names end."""

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


def require(path: Path, columns: Columns, present: Sequence[str]) -> None:
    """Refuse a file that lacks a column."""
    for part, name in columns.named().items():
        if name not in present:
            raise refuse(
                f"{path}",
                f"it has no column {name!r}, which the query names as {part}",
                f"one of {', '.join(sorted(present))}",
            )
