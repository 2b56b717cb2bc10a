"""The base of the sources that a query file declares: each opens, samples and reads its own log.

To add a source that is not files, add a subclass of `DeclaredSource` with its own `Feed`, and a member of `Source` in
`query/sections.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol, Self

from tailrace.ground.errors import Problem
from tailrace.ground.fields import Name, Section
from tailrace.ground.files.object_path import Location
from tailrace.sources.columns import SourceMapping
from tailrace.sources.discovery.open_partitions import TakenRecord
from tailrace.sources.feed import Feed
from tailrace.sources.formats.file_format import SegmentReader
from tailrace.sources.kafka.kafka_topic import KafkaTopic
from tailrace.sources.reading_progress import ReadFile
from tailrace.sources.segments import Segment, SourceFile, Types

FORMAT = "format of the source: parquet"
RATE = "rows per second at which a live run replays Parquet files, for format replay only: 2000"
"""Descriptions of the fields that all sources have."""

SOURCE_PLACE = {"path", "rate", "servers", "connection"}
"""The fields with a source's location, which may change after a checkpoint was created."""


class SourceRecord(TakenRecord, Protocol):
    """Protocol of the record of the files that a stream has read."""

    def since(self, prefix: str, boundary: str) -> Iterable[ReadFile]:
        """Return all files except those in partitions that precede a partition; an empty one means all."""


class TableAccess(Protocol):
    """Protocol of the access to Delta tables, provided by the room `storage`, as a source knows no Delta Lake."""

    def feed(
        self, path: Location, columns: SourceMapping, types: Types, before: dict[str, ReadFile], version: int
    ) -> Feed:
        """Open the feed of a table from a version on; `before` has the files of later versions that were read."""

    def files(self, path: Location) -> list[SourceFile]:
        """List a table's files in the order in which they were written; refuse a path without a table."""


@dataclass(frozen=True)
class Opening:
    """The point at which a feed continues, and the run that opens it; by default a bounded run at the log's start.

    Attributes
    ----------
    types : dict
        The types of the source's columns, as far as they are known.
    idle_s : float
        The time without records after which a partition counts as idle.
    identity : str or None
        The identity of the source when it was first read.
    record : SourceRecord or None
        The files that were read; None for none.
    path, row, version : str, int, int
        The newest segment in the log: its path, the row up to which it was read, and the version of its table.
    live : bool
        Whether the run waits for more records.
    on_progress : callable
        Called repeatedly while a feed lists many files.
    open_answers : callable or None
        Opens the feed of a query's answers in the same warehouse; None if sources are only examined.
    """

    columns: SourceMapping
    tables: TableAccess
    idle_s: float
    types: Types = field(default_factory=dict)
    identity: str | None = None
    record: SourceRecord | None = None
    path: str = ""
    row: int = 0
    version: int = -1
    live: bool = False
    on_progress: Callable[[], None] = lambda: None
    open_answers: Callable[[str, Opening], Feed] | None = None


class DeclaredSource(Section, ABC):
    """Base of the declared sources of a stream.

    Attributes
    ----------
    own_columns : dict
        The columns that the source adds to its records, by the part of a tuple that they give: `id`, `arrival_time`.
    """

    own_columns: ClassVar[Mapping[str, str]] = {}

    format: str
    connection: Name | None

    @abstractmethod
    def uri(self) -> str:
        """Return its location as a URI."""

    @abstractmethod
    def dataset(self, brokers_of: Callable[[str], str | None]) -> tuple[str, str]:
        """Return its namespace and name by OpenLineage's naming; `brokers_of` returns the brokers of a connection."""

    @property
    def local_path(self) -> Path | None:
        """The path of its files or table on a disk; None elsewhere."""
        return None

    def at(self, path: Path) -> Self | None:
        """Return the same source at another path of a disk; None where it has no path."""
        return None

    def reads(self, topic: KafkaTopic) -> bool:
        """Return whether it reads a topic."""
        return False

    @abstractmethod
    def is_history(self, columns: SourceMapping) -> bool:
        """Return whether it is a durable log with arrival times; then the stream needs no other history."""

    @abstractmethod
    def reader(self, columns: SourceMapping) -> SegmentReader:
        """Return the reader of its segments, a frozen value that is sent to every worker."""

    @abstractmethod
    def open(self, opening: Opening) -> Feed:
        """Open the growing end of its log."""

    @abstractmethod
    def sample(self, opening: Opening) -> tuple[Types, list[Segment]]:
        """Read samples of the first and of the newest records.

        Returns
        -------
        types : dict
            The types of the columns that the query reads; empty where no record shows them yet.
        segments : list of Segment
            Its first segment with records, and one of its newest ones.
        """

    def text_problems(self, columns: SourceMapping, types: Types) -> list[Problem]:
        """Name the texts that keep columns of the source from being numbers, if it is known."""
        return []

    @abstractmethod
    def has(self, segment: Segment) -> bool:
        """Test whether a segment can be read again, as far as known without reading it."""
