"""Opens a stream: its sources, its tables, and its checkpoint, which it creates if missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from tailrace.engine.answer_files import AnswerFiles
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.engine.lookup_types import named_types
from tailrace.engine.pipeline import Pipeline
from tailrace.ground.retries import Retries
from tailrace.query.query import Query
from tailrace.sources.feed import Feed
from tailrace.sources.segments import Segment, Types
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest
from tailrace.storage.table_schemas import schemas
from tailrace.stream.retrying import POLL_S, retried
from tailrace.stream.source_opening import open_feeds, problem_of
from tailrace.stream.status_reporter import AWAITED, StatusReporter
from tailrace.stream.table_versions import TableVersions

Segments = dict[str, list[Segment]]
"""Segments by the name of their stream."""


@dataclass(frozen=True)
class OpenSources:
    """The sources of a query's streams, and the segments that were new at their opening."""

    feeds: dict[str, Feed]
    segments: Segments

    @classmethod
    def open(
        cls,
        compiled: CompiledQuery,
        layout: Layout,
        manifest: CheckpointManifest | None,
        is_live: bool,
        on_progress: Callable[[], None],
    ) -> Self:
        """Open the sources, and read the new segments."""
        feeds = open_feeds(compiled, layout, manifest, is_live, on_progress)
        return cls(feeds, {name: feed.fresh() for name, feed in feeds.items()})

    @property
    def types(self) -> dict[str, Types]:
        """The types of the sources' columns, by stream."""
        return {name: feed.types for name, feed in self.feeds.items()}

    @property
    def have_types(self) -> bool:
        """Whether each stream has had a record, as only records show the types."""
        return all(feed.types for feed in self.feeds.values())

    def await_first_records(self, reporter: StatusReporter) -> bool:
        """Wait for the first record of each live stream, and add new segments; return False if drained before."""
        retries = Retries()
        while not self.have_types and not reporter.drain_requested:
            reporter.report("waiting")
            time.sleep(POLL_S)
            if retries.due:
                with retried(retries, reporter):
                    for name, feed in self.feeds.items():
                        self.segments[name] += feed.fresh()
                    reporter.report_problem(AWAITED, problem_of(self.feeds))
        return self.have_types


def reopen(open_sources: Callable[[], OpenSources], is_live: bool, reporter: StatusReporter) -> OpenSources | None:
    """Open the sources of a continued stream; return None if it is drained before that succeeds.

    A live run waits for an unavailable source, as its driver may be back before a disk.
    """
    retries = Retries()
    while not reporter.drain_requested:
        if not is_live:
            return open_sources()
        if retries.due:
            with retried(retries, reporter):
                return open_sources()
        reporter.report("waiting")
        time.sleep(POLL_S)
    return None


def open_tables(
    query: Query, layout: Layout, manifest: CheckpointManifest | None, is_live: bool
) -> tuple[TableVersions, ...]:
    """Open the query's dimension table, and its lookups' tables; refuse a new query if one of them does not fit."""
    return tuple(
        TableVersions(table, layout.table_versions, manifest.types[subject] if manifest else None, is_live, subject)
        for subject, table in query.tables.items()
    )


def create_checkpoint(compiled: CompiledQuery, layout: Layout, feeds: Mapping[str, Feed]) -> CheckpointManifest:
    """Create the checkpoint of a new stream, whose types are known."""
    identities = {name: feed.identity for name, feed in feeds.items() if feed.identity}
    columns = {name: each.named() for name, each in compiled.sources.items()}
    return layout.create_checkpoint(compiled.query.structure(), {**compiled.types}, identities, columns)


def first_types(feeds: Mapping[str, Feed], tables: Sequence[TableVersions]) -> dict[str, Types]:
    """Return the column types of a new stream, by its name, and of its tables, by their subjects."""
    types = {name: feed.types for name, feed in feeds.items()}
    return types | {table.about: named_types(table.types) for table in tables}


def pipeline_of(compiled: CompiledQuery, layout: Layout, manifest: CheckpointManifest) -> Pipeline:
    """Return the pipeline of a stream, which reads with the manifest's types, and writes to the warehouse."""
    query = compiled.query
    pipeline = compiled.bind(manifest.types).pipeline(layout.histories(query.streams), layout.chunks)
    tasks = manifest.first_tasks if query.tasks else 0
    pipeline = replace(pipeline, tasks=tasks, plans_from=manifest.plans_from, table_versions=layout.table_versions)
    if query.table is None:
        return pipeline
    results = layout.table("results"), schemas(pipeline.kind)["results"]
    return replace(pipeline, answer_files=AnswerFiles(*results, layout.table_versions))
