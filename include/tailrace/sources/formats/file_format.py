"""Protocol of the file formats from which segments are read.

To add a format, add a module with a class that implements `Format`, and a line in `sources/formats/registry.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tailrace.sources.columns import SourceMapping
from tailrace.sources.segments import RawSegment, Segment, SourceFile, Types


@dataclass(frozen=True)
class OtherFiles:
    """The types that the other files of a source show.

    Attributes
    ----------
    before : dict
        The types of earlier files, as far as known.
    newest : callable
        Returns the types of the newest file, or of the table, which has the columns added later.
    """

    before: Types = field(default_factory=dict)
    newest: Callable[[], Types | None] = lambda: None


ALONE = OtherFiles()
"""For a source with one file."""


class SegmentReader(Protocol):
    """Protocol of the readers of a log's segments."""

    def read(self, segment: Segment, types: Types) -> RawSegment:
        """Read the columns of `types` of every record of a segment.

        Raises
        ------
        SourceChanged
            When the file was changed or removed since it was taken.
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
        """Whether its files state the types of their columns; otherwise the values of the first records show them."""

    @property
    def is_log(self) -> bool:
        """Whether its files are kept after they were read; files with arrival times are then the stream's history."""

    def at(self, connection: str | None, exact: frozenset[str] = frozenset()) -> SegmentReader:
        """Return the reader of segments; those in an object store are read through the connection.

        `exact` names columns whose numbers must be exact; a record with a number that a double rounds is malformed.
        """

    def whole(self, path: SourceFile, still: bool) -> bool:
        """Test whether a file seems complete; `still` says that it has not changed for `file_feed.STILL_S` seconds."""

    def types(self, path: SourceFile, columns: SourceMapping, others: OtherFiles = ALONE) -> Types | None:
        """Return the types of the columns that the query reads; None if the file's records don't show them.

        Raises
        ------
        Refused
            When a column is missing or of an unusable type, or the file is unreadable.
        """

    def names(self, path: SourceFile, columns: SourceMapping) -> set[str] | None:
        """Return the columns that occur in the records examined for the types.

        Return None for a format whose files name all of their columns, where `types` refuses missing ones. Records of
        other formats may omit nulls, so a column is missing if no file shows it.
        """

    def unfit(self, path: SourceFile, columns: SourceMapping) -> dict[str, Any]:
        """Return for each part that every record needs a value that does not fit; None if some value fits.

        A part is left out if no examined record has a value there. For files that state their types, all parts are left
        out. The result explains why records do not show the types.
        """

    def split(self, path: SourceFile) -> list[Segment]:
        """Return the file's segments, in order, without `size` and `mtime_ns`."""
