"""Opens the feed of each stream of a query, at the position that the journal has reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from deltalake.exceptions import DeltaError

from tailrace.engine.stream_reader import columns_of, records_of
from tailrace.ground.errors import Problem, Refused, SourceChanged
from tailrace.ground.object_path import ObjectPath
from tailrace.query.query import Query
from tailrace.query.sections import Files, Kafka, Replay, Stream
from tailrace.sources.check import Columns
from tailrace.sources.closed_partitions import oldest_open
from tailrace.sources.feed import Feed
from tailrace.sources.file_feed import FileFeed
from tailrace.sources.kafka_client import Topic
from tailrace.sources.kafka_feed import KafkaFeed
from tailrace.sources.replay_feed import ReplayFeed
from tailrace.sources.segments import Segment, Types
from tailrace.sources.source_directory import open_directory
from tailrace.storage.delta_feed import DeltaFeed
from tailrace.storage.journal import Journal, StreamPosition
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest
from tailrace.stream.taken_record import StreamRecord, by_path

_FILES_AT_ONCE = 1000


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


def open_feeds(
    query: Query,
    layout: Layout,
    manifest: CheckpointManifest | None,
    live: bool,
    on_progress: Callable[[], None] = lambda: None,
) -> dict[str, Feed]:
    """Open the growing end of the source of each stream; returns the feeds by the streams' names.

    A bounded run replays at no rate. `on_progress` is called again and again while a feed lists many files.
    """
    columns, positions = columns_of(query), _positions(layout)
    feeds: dict[str, Feed] = {}
    for name, stream in query.streams.items():
        types, identity = (manifest.types[name], manifest.identities.get(name)) if manifest else ({}, None)
        position = positions.get(name, StreamPosition())
        record = StreamRecord(layout, name)
        open_feed = partial(_open, query, stream, columns[name], types, identity, record, position, live, on_progress)
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
    record: StreamRecord,
    position: StreamPosition,
    live: bool,
    on_progress: Callable[[], None],
) -> Feed:
    source = stream.source
    if isinstance(source, Kafka):
        records = records_of(source, columns)
        topic, before = Topic(records.servers, source.topic), (position.path, position.row) if position.path else None
        return KafkaFeed(topic, records, columns, types, before, identity, query.idle_ms / 1000, live)
    if source.format == "delta":
        place = source.path if isinstance(source.path, Path) else ObjectPath(source.path, source.connection)
        delta = DeltaFeed(place, columns, types, by_path(record.since("", "")), position.version)
        if identity is not None and identity != delta.identity:
            wrong = f"it is another table than the stream has read: {delta.identity}, not {identity}"
            right = "the table that it was; or another name for the query, to begin anew"
            raise SourceChanged([Problem(str(source.path), wrong, right)])
        return delta
    kept_as = "parquet" if source.format == "replay" else source.format
    prefix, boundary = _open_from(source, position) if live and position.path else ("", "")
    files = FileFeed(
        source.path,
        kept_as,
        columns,
        types,
        record.since(prefix, boundary),
        _FILES_AT_ONCE if live else None,
        connection=source.connection,
        record=record if live else None,
        boundary=boundary,
        known_as=identity,
        on_progress=on_progress,
    )
    return ReplayFeed(files, source.rate) if source.rate is not None and live else files


def _open_from(source: Files | Replay, position: StreamPosition) -> tuple[str, str]:
    """What the paths of a source's files begin with, and the oldest partition that is open after its newest segment."""
    directory = open_directory(source.path, source.format, source.connection)
    path = position.path.removeprefix(directory.prefix)
    return directory.prefix, "" if path == position.path else oldest_open(directory, path)


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
