"""Opens the answers of another query, the upstream, as the stream of a chained query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from tailrace.delivery.answer_log import AnswerLog
from tailrace.ground.duration import format_duration, ms, parse_duration
from tailrace.ground.errors import Problem, SourceChanged, as_unfit, refuse
from tailrace.ground.files.object_path import Location, unlink_all
from tailrace.query.window_section import KeyedWindow
from tailrace.sources.columns import SourceMapping
from tailrace.sources.declared_source import Opening
from tailrace.sources.feed import Feed, FeedAround
from tailrace.sources.reading_progress import by_path
from tailrace.sources.segments import Segment, Types
from tailrace.storage.delta_feed import DeltaFeed
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables
from tailrace.tables.stream import UPSTREAM
from tailrace.windows.calendar import Calendar


class AnswerFeed(FeedAround):
    """The feed of another query's answers; each call updates their log and reads on in it."""

    def __init__(self, log: AnswerLog, feed: DeltaFeed) -> None:
        super().__init__(feed)
        self.log = log

    def fresh(self) -> list[Segment]:
        self.log.refresh()
        return self.feed.fresh()


@dataclass(frozen=True)
class _NoAnswers:
    """The feed of a query that has no answers yet."""

    problem: str
    types: ClassVar[Types] = {}
    identity, version, holds_back = "", 0, True

    def fresh(self) -> list[Segment]:
        """Return nothing."""
        return []


class AwaitedAnswers(FeedAround):
    """The feed of a query that has not begun yet: each call looks for its answers, and opens them once they exist.

    Only a record shows a stream's types, so a new live run waits for it, and reports the feed's problem.
    """

    def __init__(self, log: AnswerLog, missing: Problem, open_feed: Callable[[], Feed]) -> None:
        super().__init__(_NoAnswers(f"{missing.fault}. This run waits for it; right would be: {missing.remedy}"))
        self.log, self._open = log, open_feed

    def fresh(self) -> list[Segment]:
        if isinstance(self.feed, _NoAnswers) and self.log.missing_answers is None:
            with as_unfit():  # later answers of that query will not fit either
                self.feed = self._open()
        return self.feed.fresh()


def open_answers(reader: Layout, query: str, opening: Opening) -> Feed:
    """Open the feed of a query's answers, for another query in the same warehouse.

    A live stream that begins waits until the query has answers.

    Raises
    ------
    Refused
        When the query has no answers, or they do not fit as the reader's stream.
    """
    log = AnswerLog(Layout(reader.home.parent / query), reader, UPSTREAM.name)
    require_no_cycle(reader, query)
    if opening.live and reader.manifest() is None and (missing := log.missing_answers) is not None:
        return AwaitedAnswers(log, missing, partial(_open, log, opening))
    log.require_answers()
    return _open(log, opening)


def _open(log: AnswerLog, opening: Opening) -> Feed:
    """Open the feed of existing answers."""
    upstream, reader = log.upstream, log.reader
    query, path = upstream.home.name, reader.table(UPSTREAM.name)
    require_no_cycle(reader, query)
    structure = _structure(upstream)
    if (kind := structure.get("kind", "aggregate")) != "aggregate":
        fault = f"query {query} is of kind {kind}, whose answers are no stream here"
        raise refuse(str(upstream.home), fault, "a query of kind aggregate")
    if structure.get("window.session") is not None:
        fault = f"query {query} answers sessions, whose times a correction moves"
        raise refuse(str(upstream.home), fault, "a query whose windows have a size")
    _require_fixed(upstream, structure, opening.columns)
    if opening.live:
        _require_patience(upstream, structure, opening.idle_s)
    if reader.manifest() is None and Journal(reader.journal).last() is None:
        _remove(path)  # a refused run left it, perhaps from the answers of another query
    log.refresh()
    before = by_path(() if opening.record is None else opening.record.since("", ""))
    feed = DeltaFeed(path, opening.columns, opening.types, before, opening.version)
    if opening.identity not in (None, feed.identity):
        fault = f"it is another table than the stream has read: {feed.identity}, not {opening.identity}"
        remedy = "the table that it was; or another name for the query, to begin again"
        raise SourceChanged([Problem(str(path), fault, remedy)])
    return AnswerFeed(log, feed)


def require_no_cycle(layout: Layout, query: str) -> None:
    """Refuse a query that reads, perhaps indirectly, its own answers."""
    chain, to_follow = [layout.home.name], [query]
    while to_follow:
        name = to_follow.pop()
        if name == layout.home.name:
            chain.append(name)
            path = " → ".join(reversed(chain))
            raise refuse(f"query {name}", f"it reads its own answers: {path}", "a chain without a cycle")
        if name in chain:
            continue
        chain.append(name)
        structure = _structure(Layout(layout.home.parent / name))
        to_follow += upstreams(structure)


def upstreams(structure: dict[str, Any]) -> list[str]:
    """Return the queries whose answers a query reads, given its structure."""
    return [value for field, value in structure.items() if field.endswith(".source.query") and value]


def _structure(layout: Layout) -> dict[str, Any]:
    manifest = layout.manifest()
    return {} if manifest is None else manifest.structure


def _require_fixed(upstream: Layout, structure: dict[str, Any], columns: SourceMapping) -> None:
    """Refuse a key that is no column of the answers, or whose value may differ between versions of an answer."""
    keys = [value for field, value in structure.items() if field.startswith("streams.") and field.endswith(".key")]
    names = {"key", "window_start", "window_end"}
    for key in keys:
        names |= set(key) if isinstance(key, list) else set()
    there = {*Tables(upstream).schema("results").names, *UPSTREAM.columns, *columns.derived}
    for part, name in columns.key_parts.items():
        if name not in names or name in columns.derived:
            query = upstream.home.name
            fault = f"a correction of query {query} may change {name}"
            if name not in there:
                fault = f"the answers of query {query} have no column {name}"
            remedy = f"a column that identifies its answers: {', '.join(sorted(names))}"
            raise refuse(columns.field_of(part) or part, fault, remedy)


def _require_patience(upstream: Layout, structure: dict[str, Any], idle_s: float) -> None:
    """Refuse a live stream that would be closed by the silence between two answers.

    Later answers would be late.
    """
    if not structure:  # a rebuild of it is taking effect
        return
    section = KeyedWindow.model_validate(
        {name: value for name in KeyedWindow.model_fields if (value := structure.get(f"window.{name}")) is not None}
    )
    windows, slide = section.windows, format_duration(ms(section.slide))
    longest = slide
    if isinstance(windows, Calendar):  # a day may have 25 hours
        longest = format_duration(windows.pane_ms)
        slide = f"{windows.unit}, of up to {longest}"
    if idle_s <= parse_duration(longest).total_seconds():
        idle = format_duration(round(1000 * idle_s))
        fault = f"{idle} of silence close the windows, and query {upstream.home.name} answers each {slide}"
        raise refuse(
            "disorder.idle", fault, f"more than {longest}, and than it waits for late tuples: two windows, say"
        )


def _remove(directory: Location) -> None:
    """Remove a directory if it exists."""
    if not directory.is_dir():
        return
    entries: list[Location] = [*directory.iterdir()]
    for entry in entries:
        if entry.is_dir():
            _remove(entry)
    unlink_all([entry for entry in entries if not entry.is_dir()])
    if isinstance(directory, Path):
        directory.rmdir()
