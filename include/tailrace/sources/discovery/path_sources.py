"""Sources at a path, or at the URL of an object store: directories of files, files at a rate, and Delta tables."""

from __future__ import annotations

import re
import time
from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import BeforeValidator, Field, model_validator

from tailrace.expressions.written_names import written
from tailrace.ground.errors import Problem, Refused, SourceChanged
from tailrace.ground.fields import Name, ResolvedPath, ResolvedPlace, field_error
from tailrace.ground.files.atomic_files import is_url
from tailrace.ground.files.object_path import Location, ObjectPath
from tailrace.ground.files.object_urls import FORMS
from tailrace.sources.columns import SourceMapping
from tailrace.sources.declared_source import FORMAT, RATE, DeclaredSource, Opening
from tailrace.sources.discovery.closed_partitions import oldest_open
from tailrace.sources.discovery.file_feed import FileFeed
from tailrace.sources.discovery.source_directory import open_directory
from tailrace.sources.feed import Feed
from tailrace.sources.formats.csv_dialect import (
    COMMA,
    DECIMAL,
    DELIMITER,
    POINT,
    CsvDialect,
    valid_decimal,
    valid_delimiter,
)
from tailrace.sources.formats.csv_files import CsvFiles
from tailrace.sources.formats.file_format import Format, SegmentReader
from tailrace.sources.formats.registry import (
    FORMATS,
    all_missing,
    is_history,
    list_files,
    merge_types,
    no_types,
    settled_types,
)
from tailrace.sources.reading_progress import by_path, remaining
from tailrace.sources.record_place import place_of
from tailrace.sources.segments import Segment, SourceFile, Types, require_taken

if TYPE_CHECKING:
    FileFormat = str
else:
    FileFormat = Literal[tuple(FORMATS)]  # mypy requires a literal

_PATH = "file or directory, relative to the query file: data/readings"
_CONNECTION = "Airflow connection with the credentials of the object store: lake"
FILES_AT_ONCE = 1000
_MOST_SHOWN = 40
_FILES_SAMPLED = 20
"""The most files examined for the types."""


class PathSource(DeclaredSource):
    """Base of the sources at a path. The files of each have one format, from `FORMATS`."""

    path: ResolvedPlace = Field(description=_PATH)
    connection: Name | None = Field(default=None, description=_CONNECTION)

    @model_validator(mode="after")
    def _validate_connection(self) -> Self:
        if isinstance(self.path, Path) and self.connection is not None:
            fault = "a connection is for a path that is the URL of an object store"
            raise field_error(fault, f"{FORMS}; or no connection", "connection")
        return self

    @property
    def file_format(self) -> str:
        """The name of the format of its files."""
        return "parquet"

    @property
    def format_options(self) -> Format:
        """The format of its files, with the declared options."""
        return FORMATS[self.file_format]

    @property
    def location(self) -> Location:
        """Its path, or its location in an object store."""
        return self.path if isinstance(self.path, Path) else ObjectPath(self.path, self.connection)

    @property
    def local_path(self) -> Path | None:
        return self.path if isinstance(self.path, Path) else None

    def at(self, path: Path) -> Self:
        return self.model_copy(update={"path": path, "connection": None})

    def uri(self) -> str:
        if isinstance(self.path, Path):
            return self.path.absolute().as_uri()
        # Airflow removes the part before an @ as a secret.
        return re.sub(r"^abfss://([^@/]+)@([^/]+)", r"abfss://\2/\1", self.path)

    def dataset(self, brokers_of: Callable[[str], str | None]) -> tuple[str, str]:
        if isinstance(self.path, Path):
            return "file", str(self.path.absolute())
        url = urlsplit(self.path)
        return f"{url.scheme}://{url.netloc}", url.path.strip("/")

    def is_history(self, columns: SourceMapping) -> bool:
        return is_history(self.file_format, columns)

    def reader(self, columns: SourceMapping) -> SegmentReader:
        return self.format_options.at(self.connection, columns.exact)

    def sample(self, opening: Opening) -> tuple[Types, list[Segment]]:
        """Read samples of its first and last files.

        Raises
        ------
        Unfit
            When a column is missing or of an unusable type, or records don't show the types.
        """
        name, columns, files = self.file_format, opening.columns, self._files(opening)
        file_format = self.format_options
        types: Types = {}
        sampled = [*files[: _FILES_SAMPLED - 1], *files[_FILES_SAMPLED - 1 :][-1:]]
        with all_missing(self.path, file_format, columns, lambda: sampled):
            for file in sampled:
                types = merge_types(file, name, columns, types, file_format=file_format)
            types = settled_types(types, columns, lambda: None)
            filled = (segments[0] for file in sampled if (segments := file_format.split(file)) and segments[0].rows)
            first = [*islice(filled, 1)]
            last = file_format.split(sampled[-1])[:1] if len(sampled) > 1 else []
            if first and not types:
                raise no_types(self.path, columns)
        return types, [*first, *(each for each in last if each.rows and each.path != first[0].path)] if first else []

    def has(self, segment: Segment) -> bool:
        try:
            file = require_taken(segment, self.connection)
        except (Refused, FileNotFoundError):
            return False
        return is_url(segment.path) or Path(str(file)).exists()

    @abstractmethod
    def _files(self, opening: Opening) -> list[SourceFile]:
        """List its files, the first ones first."""


class DirectorySource(PathSource):
    """Base of the sources that are a directory of files, or one file."""

    def open(self, opening: Opening) -> Feed:
        prefix, boundary = self._open_from(opening.path) if opening.live and opening.path else ("", "")
        return FileFeed(
            self.path,
            self.file_format,
            opening.columns,
            opening.types,
            () if opening.record is None else opening.record.since(prefix, boundary),
            FILES_AT_ONCE if opening.live else None,
            connection=self.connection,
            record=opening.record if opening.live else None,
            boundary=boundary,
            known_as=opening.identity,
            on_progress=opening.on_progress,
            file_format=self.format_options,
        )

    def _open_from(self, newest: str) -> tuple[str, str]:
        """Return the prefix of its files' paths, and the oldest partition that is open after the newest file."""
        directory = open_directory(self.path, self.file_format, self.connection)
        path = newest.removeprefix(directory.prefix)
        return directory.prefix, "" if path == newest else oldest_open(directory, path)

    def _files(self, opening: Opening) -> list[SourceFile]:
        return list_files(self.path, self.file_format, self.connection)


class FileSource(DirectorySource):
    """A directory of files that grows, or one file."""

    format: FileFormat = Field(description=FORMAT)
    rate: None = Field(default=None, description=RATE)
    delimiter: Annotated[str | None, BeforeValidator(valid_delimiter)] = Field(default=None, description=DELIMITER)
    decimal: Annotated[str | None, BeforeValidator(valid_decimal)] = Field(default=None, description=DECIMAL)

    @model_validator(mode="after")
    def _validate_dialect(self) -> Self:
        for name in ("delimiter", "decimal"):
            if self.format != "csv" and getattr(self, name) is not None:
                raise field_error(f"format {self.format} has no {name}", f"no {name}; or format: csv", name)
        if self.decimal is not None and self.delimiter is None:
            fault = "a comma can't separate both the fields and the decimals of numbers"
            raise field_error(fault, 'delimiter: ";", or what separates the fields', "decimal")
        return self

    @property
    def file_format(self) -> str:
        return self.format

    def text_problems(self, columns: SourceMapping, types: Types) -> list[Problem]:
        file_format = self.format_options
        names = [name for name in columns.free.values() if types.get(name) == "string"]
        if not isinstance(file_format, CsvFiles) or not names:
            return []
        return [
            Problem(
                place_of(f"{file}#{row}", self.format),
                f"{name} is {text[:_MOST_SHOWN]!r}, so that the column is text; most of its values are numbers",
                f"columns: {{number: try_cast({written(name)} as double)}}, which makes null of it; "
                "or a file without it",
            )
            for file in list_files(self.path, self.format, self.connection)[:1]
            for name, row, text in file_format.texts_among_numbers(file, names)
        ]

    @property
    def format_options(self) -> Format:
        if self.delimiter is None and self.decimal is None:
            return super().format_options
        return CsvFiles(dialect=CsvDialect(self.delimiter or COMMA, self.decimal or POINT))


class ReplaySource(DirectorySource):
    """Parquet files that a live run replays at a rate."""

    path: ResolvedPath = Field(description=_PATH)
    connection: None = Field(default=None, description=_CONNECTION)
    format: Literal["replay"] = Field(description=FORMAT)
    rate: Annotated[float, Field(gt=0, allow_inf_nan=False)] = Field(description=RATE)

    def open(self, opening: Opening) -> Feed:
        files = super().open(opening)
        return ReplayFeed(files, self.rate) if opening.live else files


class DeltaSource(PathSource):
    """A Delta table that grows."""

    format: Literal["delta"] = Field(description=FORMAT)
    rate: None = Field(default=None, description=RATE)

    def open(self, opening: Opening) -> Feed:
        before = by_path(() if opening.record is None else opening.record.since("", ""))
        feed = opening.tables.feed(self.location, opening.columns, opening.types, before, opening.version)
        if opening.identity is not None and opening.identity != feed.identity:
            fault = f"it is another table than the stream has read: {feed.identity}, not {opening.identity}"
            remedy = "the table that it was; or another name for the query, to begin again"
            raise SourceChanged([Problem(str(self.path), fault, remedy)])
        return feed

    def _files(self, opening: Opening) -> list[SourceFile]:
        return opening.tables.files(self.location)


class ReplayFeed:
    """Replays a complete log, at a rate in rows per second.

    The first call of `fresh` only polls the log, and returns nothing. The clock starts with the second call, when there
    is a reader.
    """

    version, identity, problem = 0, "", None

    def __init__(self, log: Feed, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Create the feed; `rate` is in rows per second, `clock` in seconds."""
        self._log, self._rate, self._clock = log, rate, clock
        self._start_s: float | None = None
        self._has_polled, self._row_count = False, 0
        self._queue: deque[Segment] = deque()

    @property
    def types(self) -> Types:
        return self._log.types

    @property
    def holds_back(self) -> bool:
        return bool(self._queue) or self._log.holds_back

    def fresh(self) -> list[Segment]:
        self._queue += self._log.fresh()
        if not self._has_polled:
            self._has_polled = True
            return []
        self._start_s = self._clock() if self._start_s is None else self._start_s
        quota = int((self._clock() - self._start_s) * self._rate) - self._row_count
        segments: list[Segment] = []
        while quota > 0 and self._queue:
            segment = self._queue.popleft()
            head = replace(segment, rows=min(segment.rows, quota))
            self._queue.extendleft(remaining([segment], head.first_row + head.rows))
            segments.append(head)
            quota -= head.rows
            self._row_count += head.rows
        return segments
