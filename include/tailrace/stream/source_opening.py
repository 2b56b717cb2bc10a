"""Opens the feed of each stream of a query, at the position reached by the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from deltalake.exceptions import DeltaError

from tailrace.engine.compiled_query import CompiledQuery
from tailrace.ground.errors import Refused
from tailrace.sources.declared_source import Opening
from tailrace.sources.feed import Feed, FeedAround
from tailrace.sources.segments import Segment
from tailrace.storage.delta_access import DELTA_TABLES
from tailrace.storage.journal import Journal, StreamPosition
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest
from tailrace.stream.taken_record import StreamRecord
from tailrace.stream.upstream_answers import open_answers


class NamedFeed(FeedAround):
    """A feed that names its stream in errors and problems, used for a query with several streams."""

    def __init__(self, name: str, feed: Feed) -> None:
        super().__init__(feed)
        self.name = name

    @property
    def problem(self) -> str | None:
        problem = self.feed.problem
        return None if problem is None else f"stream {self.name}: {problem}"

    def fresh(self) -> list[Segment]:
        with _naming(self.name):
            return self.feed.fresh()


def open_feeds(
    compiled: CompiledQuery,
    layout: Layout,
    manifest: CheckpointManifest | None,
    live: bool,
    on_progress: Callable[[], None] = lambda: None,
) -> dict[str, Feed]:
    """Open the growing end of each stream's source; return the feeds by the streams' names.

    A bounded run replays without a rate. `on_progress` is called repeatedly while a feed lists many files.
    """
    query, positions = compiled.query, _positions(layout)
    feeds: dict[str, Feed] = {}
    for name, stream in query.streams.items():
        position = positions.get(name, StreamPosition())
        opening = Opening(
            compiled.sources[name],
            DELTA_TABLES,
            query.idle_ms / 1000,
            manifest.types[name] if manifest else {},
            manifest.identities.get(name) if manifest else None,
            StreamRecord(layout, name),
            position.path,
            position.row,
            position.version,
            live,
            on_progress,
            partial(open_answers, layout),
        )
        if len(query.streams) == 1:
            feeds[name] = stream.source.open(opening)
        else:
            with _naming(name):
                feed = stream.source.open(opening)
            feeds[name] = NamedFeed(name, feed)
    return feeds


def problem_of(feeds: Mapping[str, Feed]) -> str | None:
    """Return the reasons why feeds return no more for now; None without any."""
    return "; ".join(feed.problem for feed in feeds.values() if feed.problem is not None) or None


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
    """Return the state of each stream's log after the newest entry of the journal."""
    last = Journal(layout.journal).last()
    return last.position.streams if last else {}
