"""Opens the feed of each stream of a query, at the position that the journal has reached."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow.compute as pc
from deltalake.exceptions import DeltaError

from tailrace.engine.stream_reader import columns_of, records_of
from tailrace.ground.errors import Problem, Refused, SourceChanged
from tailrace.ground.object_path import ObjectPath
from tailrace.query.query import Query
from tailrace.query.sections import Kafka, Stream
from tailrace.sources.check import Columns
from tailrace.sources.feed import Feed
from tailrace.sources.file_feed import FileFeed
from tailrace.sources.kafka_client import Topic
from tailrace.sources.kafka_feed import KafkaFeed
from tailrace.sources.reading_progress import ReadFile, read_files
from tailrace.sources.replay_feed import ReplayFeed
from tailrace.sources.segments import Segment, Types
from tailrace.storage.delta_feed import DeltaFeed
from tailrace.storage.journal import Journal, StreamPosition
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest
from tailrace.storage.tables import Tables

_FILES_AT_ONCE = 1000
_OF_FILE = ("of_rows", "size", "mtime_ns")
_ReadFiles = dict[str, ReadFile]


@dataclass(frozen=True)
class NamedFeed:
    """A feed that names its stream in errors and problems: for a query with several streams."""

    name: str
    feed: Feed

    @property
    def types(self) -> Types:
        return self.feed.types

    @property
    def identity(self) -> str:
        return self.feed.identity

    @property
    def version(self) -> int:
        return self.feed.version

    @property
    def holds_back(self) -> bool:
        return self.feed.holds_back

    @property
    def problem(self) -> str | None:
        problem = self.feed.problem
        return None if problem is None else f"stream {self.name}: {problem}"

    def fresh(self) -> list[Segment]:
        with _naming(self.name):
            return self.feed.fresh()


def open_feeds(query: Query, layout: Layout, manifest: CheckpointManifest | None, live: bool) -> dict[str, Feed]:
    """Open the growing end of the source of each stream; returns the feeds by the streams' names.

    A bounded run replays at no rate.
    """
    columns, read, positions = columns_of(query), _read_files(query, layout), _positions(layout)
    feeds: dict[str, Feed] = {}
    for name, stream in query.streams.items():
        types, identity = (manifest.types[name], manifest.identities.get(name)) if manifest else ({}, None)
        position = positions.get(name, StreamPosition())
        open_feed = partial(_open, query, stream, columns[name], types, identity, read[name], position, live)
        if len(query.streams) == 1:
            feeds[name] = open_feed()
        else:
            with _naming(name):
                feed = open_feed()
            feeds[name] = NamedFeed(name, feed)
    return feeds


def problem_of(feeds: Mapping[str, Feed]) -> str | None:
    """The reasons for which feeds give no more for now; None: there is no such reason."""
    return "; ".join(feed.problem for feed in feeds.values() if feed.problem is not None) or None


def _open(
    query: Query,
    stream: Stream,
    columns: Columns,
    types: Types,
    identity: str | None,
    read: _ReadFiles,
    position: StreamPosition,
    live: bool,
) -> Feed:
    source = stream.source
    if isinstance(source, Kafka):
        records = records_of(source, columns)
        topic, before = Topic(records.servers, source.topic), (position.path, position.row) if position.path else None
        return KafkaFeed(topic, records, columns, types, before, identity, query.idle_ms / 1000, live)
    if source.format == "delta":
        place = source.path if isinstance(source.path, Path) else ObjectPath(source.path, source.connection)
        delta = DeltaFeed(place, columns, types, read, position.version)
        if identity is not None and identity != delta.identity:
            wrong = f"it is another table than the stream has read: {delta.identity}, not {identity}"
            right = "the table that it was; or another name for the query, to begin anew"
            raise SourceChanged([Problem(str(source.path), wrong, right)])
        return delta
    kept_as = "parquet" if source.format == "replay" else source.format
    by_name = {Path(path).name: one for path, one in read.items()}
    at_once = _FILES_AT_ONCE if live else None
    files = FileFeed(source.path, kept_as, columns, types, by_name, at_once, connection=source.connection)
    return ReplayFeed(files, source.rate) if source.rate is not None and live else files


@contextmanager
def _naming(stream: str) -> Iterator[None]:
    """Name the stream in errors of its source."""
    try:
        yield
    except Refused as refused:
        problems = [replace(problem, where=f"stream {stream}: {problem.where}") for problem in refused.problems]
        raise type(refused)(problems) from refused
    except OSError as error:
        text = f"stream {stream}: {error.strerror or error}"
        raise type(error)(*((error.errno, text, error.filename) if error.errno else (text,))) from error
    except DeltaError as error:
        raise type(error)(f"stream {stream}: {error}") from error


def _positions(layout: Layout) -> Mapping[str, StreamPosition]:
    """The state of each stream's log after the newest entry of the journal."""
    last = Journal(layout.journal).last()
    return last.position.streams if last else {}


def _read_files(query: Query, layout: Layout) -> dict[str, _ReadFiles]:
    """Reading progress in each stream's files: by the table `segments`, and by journal entries that it lacks yet."""
    tables, journal = Tables(layout), Journal(layout.journal)
    found: dict[str, _ReadFiles] = {name: {} for name in query.streams}
    batch = 0
    if tables.has("segments"):
        rows = tables.read("segments", ["batch", "stream", "path", "first_row", "rows", *_OF_FILE])
        batch = (pc.max(rows.column("batch")).as_py() or 0) + 1 if rows.num_rows else 0
        ends = rows.append_column("end", pc.add(rows.column("first_row"), rows.column("rows")))
        files = ends.group_by(["stream", "path"]).aggregate([(name, "max") for name in ("end", *_OF_FILE)])
        for file in files.to_pylist():
            of_file = (file[f"{name}_max"] for name in _OF_FILE)
            found[file["stream"]][file["path"]] = ReadFile(file["path"], file["end_max"], *of_file)
    while batch in journal:
        segments = journal[batch].segments
        for name, before in found.items():
            before.update(read_files((segment for segment in segments if segment.stream == name), before))
        batch += 1
    return found
