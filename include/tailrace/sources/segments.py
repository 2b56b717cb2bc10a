"""Segments, the ordered pieces of a stream's log, and the files with their records.

A directory of files is one source partition, in the order of file names.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.ground.errors import Problem, Refused, SourceChanged, refuse
from tailrace.ground.files.atomic_files import is_url
from tailrace.ground.files.regular_files import NotRegularError, open_regular, regular_status
from tailrace.sources.discovery.object_files import ObjectFile, find_object

SourceFile = Path | ObjectFile
"""A file of a source, on a disk or in an object store."""

State = tuple[int, int]
"""A file's size in bytes and change time in ns; for an object, a digest of its ETag replaces the time."""

Types = dict[str, str]
"""The Arrow type, by name, of each of the source's columns that a query reads."""


NULL = "null"
"""The name of the type of a column with nulls only."""


def is_integer(type_name: str) -> bool:
    """Test whether an Arrow type name, as in `Types`, names an integer type."""
    return type_name.startswith(("int", "uint"))


@dataclass(frozen=True)
class Segment:
    """A piece of the log: `rows` records of a file from its record `first_row` on.

    Attributes
    ----------
    stream : str
        The name of its stream.
    ordinal, position : int
        The number of earlier segments in the log of all streams, and of earlier records in its own stream.
    ingested_ms : int or None
        The arrival time of its records if the source has no column for it. Otherwise the time of their reading, which
        their arrival times exceed by at most `bounds.skew`. None before the segment is in a batch.
    size, of_rows : int
        The file's size in bytes, and the number of its records in all.
    version : int
        The version of the table that added the file; 0 if the source is not a table.
    mtime_ns : int or None
        The file's change time, or a digest of an object's ETag; None if the name alone identifies the content (a
        table's file).
    block_start, block_end, block_row : int
        The byte range of the file with its records, and the first record in it; an end of 0 means the whole file.
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
    stream: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class MalformedRecord:
    """A record that can't be parsed into the query's columns: its row in the segment, the reason, and its text.

    Its arrival time (ms) is None if the record has none.
    """

    row: int
    reason: str
    record: str
    arrival_ms: int | None = None


@dataclass(frozen=True)
class RawSegment:
    """The content of a segment: the parsed records, their rows, and the malformed records."""

    table: pa.Table
    row: NDArray[np.int64]
    malformed: list[MalformedRecord]


def state_of(file: SourceFile) -> State | None:
    """Return a file's size and change time, an object's as listed; None if it is gone from its directory.

    Raises
    ------
    Refused
        When it is not a regular file, or is a dangling link.
    """
    if isinstance(file, ObjectFile):
        return file.state
    try:
        now = regular_status(file)
    except NotRegularError as error:
        raise irregular(error) from None
    except FileNotFoundError:
        if not file.parent.is_dir():
            raise  # the fault is in the access to the file, and may pass
        return None
    return now.st_size, now.st_mtime_ns


def open_source(file: SourceFile) -> BinaryIO:
    """Open a source's file for reading; refuse one that is missing or not regular."""
    try:
        return open_regular(file) if isinstance(file, Path) else file.open()
    except NotRegularError as error:
        raise irregular(error) from None
    except FileNotFoundError as error:  # other faults may pass, so they are not refusals
        raise refuse(str(file), f"it can't be read ({error})", "a file, or a link to one, that is there") from error


def require_regular(path: Path) -> None:
    """Refuse a path that exists but is not a regular file."""
    try:
        regular_status(path)
    except NotRegularError as error:
        raise irregular(error) from None


def irregular(error: NotRegularError) -> Refused:
    """Build the refusal of a file that is not regular."""
    return refuse(str(error.filename), f"it can't be read: {error.strerror}", "a regular file, or a link to one")


def require_taken(segment: Segment, connection: str | None) -> SourceFile:
    """Return the file of a segment; refuse one that was changed or removed since it was taken.

    `connection` is the connection to its object store, if it is in one.
    """
    file = find_object(segment.path, connection) if is_url(segment.path) else Path(segment.path)
    if segment.mtime_ns is not None or file is None:
        state = None if file is None else state_of(file)
        if file is None or state is None:
            raise removed(segment.path)
        if state != (segment.size, segment.mtime_ns):
            raise changed(segment.path, f"it had {segment.size:,} bytes when it was taken, and was changed since")
    return file


def removed(path: str) -> SourceChanged:
    """Build the error for a file that was removed and is still needed."""
    return changed(path, "it was removed, and the stream has still to read it, or to correct by it")


def moved(path: str, before: str, source: str, must_stay: bool) -> SourceChanged:
    """Build the error for a file that was already read at another location of the source."""
    remedy = f"that file where it was, beside new ones, and path: {source}"
    remedy += "" if must_stay else "; or a path to a directory with new files alone"
    fault = f"it was read as {before}, and would count twice"
    return SourceChanged([Problem(path, fault, f"{remedy}; or another name for the query, to begin again")])


def changed(path: str, fault: str) -> SourceChanged:
    """Build the error for a file that differs from its taken state."""
    remedy = "files that stay as they are, and new names for new ones; or another name for the query, to begin again"
    return SourceChanged([Problem(path, fault, remedy)])
