"""A declared query run into a warehouse in this process: the app without Spark, batch by batch as often as wanted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from local_tables import write
from tailrace.disorder.policy import SlackPolicy
from tailrace.engine.feedback import Feedback
from tailrace.engine.local import LocalEngine
from tailrace.engine.next_facts import DECLARED
from tailrace.engine.stage import Stage
from tailrace.query.query import Query
from tailrace.sources import history
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.progress import read_progress
from tailrace.storage.table_schemas import history_schemas, schemas, stream_tables
from tailrace.storage.tables import Tables
from tailrace.stream.batch_planner import BatchPlanner
from tailrace.stream.entry_writer import EntryWriter
from tailrace.stream.run_options import RunOptions
from tailrace.stream.source_opening import open_feeds
from tailrace.stream.steady_clock import SteadyClock

NOW = 1_800_000_000_000


class LocalApp:
    """The stream of one query.

    `wanted` gives the settings that are to be in force, and where they are from; `now` is the wall clock.
    """

    def __init__(
        self, query: Query, warehouse: Path, wanted: Callable[[], tuple[SlackPolicy, str]] | None = None, now: int = NOW
    ) -> None:
        self.query, self.layout, self.now = query, Layout.of(warehouse, query.name), now
        declared = query.policy, DECLARED
        self.wanted = wanted or (lambda: declared)
        feeds = open_feeds(query, self.layout, None, live=False)
        for feed in feeds.values():
            feed.fresh()
        types = {name: feed.types for name, feed in feeds.items()}
        origin = self.layout.create_checkpoint(query.structure(), types, {})
        self.stage = Stage.of(query, origin.types, self.layout.histories(query.streams))
        histories = history_schemas(self.stage.readers)
        self.schemas = schemas(self.stage.kind)
        self.tables = Tables(self.layout)
        self.tables.create(self.schemas | histories, stream_tables(histories))
        self.schemas |= dict.fromkeys(histories, history.FILES)
        self.engine = LocalEngine(self.stage)

    def go(self, batch_rows: int = 1_000_000, flush: bool = False) -> int:
        """Read all that is there; with `flush` end the stream. Returns how many batches that took."""
        feeds = open_feeds(self.query, self.layout, self.layout.manifest(), live=False)
        waiting = {name: feed.fresh() for name, feed in feeds.items()}
        stamped = {name for name, stream in self.query.streams.items() if stream.is_stamped}
        plan = RunOptions(batch_rows, live=False, flush=flush)
        clock = (self.query.tick_ms, self.query.idle_ms, stamped, Feedback(self.stage.kind, 1), plan, self._clock)
        planner = BatchPlanner(EntryWriter(Journal(self.layout.journal)), feeds, waiting, self.wanted, *clock)
        done = 0
        while (entry := planner.plan(read_progress(self.layout))) is not None:
            self._batch(entry)
            done += 1
        return done

    def _clock(self, last_stamp_ms: int) -> SteadyClock:
        return SteadyClock(last_stamp_ms, lambda: self.now, lambda: self.now / 1000)

    def _batch(self, entry) -> None:
        rows = self.engine.run(entry.header, entry.segments)
        write(self.tables, rows, self.schemas, entry.header.batch, datetime.fromtimestamp(self.now / 1000, UTC))
