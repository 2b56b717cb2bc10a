"""Segments: the pieces of a stream's log, in order. A directory of files is one source partition, by file name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.ground.errors import Problem, SourceChanged, refuse
from tailrace.sources.check import Columns

State = tuple[int, int]
"""A file's size in bytes, and the time of its last change in ns."""

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
    mtime_ns : int or None
        When the file was last changed; None where its name alone tells that it is the same (a table's).
    block_start, block_end, block_row : int
        The bytes of the file that hold its records, and the first record in them; an end of 0: the whole file.
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
    mtime_ns: int | None = None
    block_start: int = 0
    block_end: int = 0
    block_row: int = 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class MalformedRecord:
    """A record that is not even one: its row in the segment, why, and its text."""

    row: int
    reason: str
    record: str


@dataclass(frozen=True)
class RawSegment:
    """What a segment holds: the records that could be read, their rows, and the broken ones."""

    table: pa.Table
    row: NDArray[np.int64]
    malformed: list[MalformedRecord]


class Format(Protocol):
    """A way to store a stream as files."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """How its files' names end."""

    def whole(self, path: Path, still: bool) -> bool:
        """Whether all of a file is there, as far as can be told; `still`: it is as it was a look ago."""

    def types(self, path: Path, columns: Columns) -> Types | None:
        """The types of the columns that are read; None from a file without records.

        Raises
        ------
        Refused
            When a column is missing or of a type that no tuple can come from, or the file is unreadable.
        """

    def split(self, path: Path) -> list[Segment]:
        """The file's segments, in order, without `size` and `mtime_ns`."""

    def read(self, segment: Segment, types: Types) -> RawSegment:
        """The columns of `types`, of every record.

        Raises
        ------
        SourceChanged
            When the file is not the one that was taken.
        """

    def records(self, segment: Segment, rows: Sequence[int]) -> list[str]:
        """The given records as text, as they stand in the file."""


def state_of(file: Path) -> State | None:
    """A file's size and time of change; None where it is gone from its directory."""
    try:
        now = file.stat()
    except FileNotFoundError:
        if not file.parent.is_dir():
            raise  # not the file, but the way to it: it may come back
        return None
    return now.st_size, now.st_mtime_ns


def require_taken(segment: Segment) -> None:
    """Refuse to read a file that is not the one that was taken."""
    if segment.mtime_ns is None:
        return
    state = state_of(Path(segment.path))
    if state is None:
        raise removed(segment.path)
    if state != (segment.size, segment.mtime_ns):
        raise changed(segment.path, f"it had {segment.size:,} bytes when it was taken, and was changed since")


def removed(path: str) -> SourceChanged:
    """The refusal of a file that is gone, and is still needed."""
    return changed(path, "it was removed, and the stream has still to read it, or to correct by it")


def changed(path: str, wrong: str) -> SourceChanged:
    """The refusal of a file that is not what it was when it was taken."""
    right = "files that stay as they are, and new names for new ones; or another name for the query, to begin anew"
    return SourceChanged([Problem(path, wrong, right)])


def require(path: Path, columns: Columns, present: Sequence[str]) -> None:
    """Refuse a file that lacks a column."""
    for part, name in columns.named().items():
        if name not in present:
            raise refuse(
                f"{path}",
                f"it has no column {name!r}, which the query names as {part}",
                f"one of {', '.join(sorted(present))}",
            )
