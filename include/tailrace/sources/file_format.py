"""Protocol of the file formats that segments are read from.

A new format is a module with a class that keeps `Format`, and a line in `sources/formats.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tailrace.sources.columns import Columns
from tailrace.sources.segments import RawSegment, Segment, SourceFile, Types


@dataclass(frozen=True)
class OtherFiles:
    """The types that the other files of a source show.

    Attributes
    ----------
    before : dict
        Those of the files before it, as far as they are known.
    newest : callable
        Gives the types of the newest file, or of the table: it has the columns that were added after a file.
    """

    before: Types = field(default_factory=dict)
    newest: Callable[[], Types | None] = lambda: None


ALONE = OtherFiles()
"""No other files."""


class SegmentReader(Protocol):
    """Protocol of what reads the segments of a log."""

    def read(self, segment: Segment, types: Types) -> RawSegment:
        """Read the columns of `types` of every record of a segment.

        Raises
        ------
        SourceChanged
            When the source was changed or removed since it was taken.
        """

    def records(self, segment: Segment, rows: Sequence[int]) -> list[str]:
        """Return the given records of a segment as text, for the quarantine."""


class Format(SegmentReader, Protocol):
    """Protocol of a file format that stores a stream."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Suffixes of its files' names."""

    @property
    def states_types(self) -> bool:
        """True if its files state the types of their columns; else the values of the first records show them."""

    @property
    def is_log(self) -> bool:
        """True if its files stay once they were read: with arrival times they are the stream's history."""

    def at(self, connection: str | None, exact: frozenset[str] = frozenset()) -> SegmentReader:
        """Return the reader of segments that may be in an object store, by a connection to it.

        `exact` names columns whose numbers are given back as they are: a record with one that a double rounds is
        malformed.
        """

    def whole(self, path: SourceFile, still: bool) -> bool:
        """Test whether a file seems complete; `still`: it is unchanged for `file_feed.STILL_S` seconds."""

    def types(self, path: SourceFile, columns: Columns, others: OtherFiles = ALONE) -> Types | None:
        """Types of the columns that the query reads; None from a file whose records don't show them.

        Raises
        ------
        Refused
            When a column is missing or of a type that no tuple can come from, or the file is unreadable.
        """

    def names(self, path: SourceFile, columns: Columns) -> set[str] | None:
        """Return the columns that the records of a file show, of those that are looked at for the types.

        None of a format whose files name all of their columns: there `types` refuses those that are missing. Records of
        others may leave out what is null, so a column is missing where no file shows it.
        """

    def split(self, path: SourceFile) -> list[Segment]:
        """Return the file's segments, in order, without `size` and `mtime_ns`."""
