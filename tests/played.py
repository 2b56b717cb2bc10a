"""A declared query run into a warehouse in this process: the app without Spark, batch by batch as often as wanted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from here import write
from tailrace.disorder.policy import SlackPolicy
from tailrace.engine.batch_header import DECLARED
from tailrace.engine.local import LocalEngine
from tailrace.engine.stage import Stage
from tailrace.query.query import Query
from tailrace.sources import history
from tailrace.sources.segments import is_integer
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.progress import Progress
from tailrace.storage.table_schemas import STREAM_TABLES, schemas
from tailrace.storage.tables import Tables
from tailrace.stream.batch_planner import BatchPlanner, RunOptions
from tailrace.stream.source_opening import open_feed

NOW = 1_800_000_000_000


class Played:
    """The stream of one query.

    `wanted` gives the settings that are to be in force, and where they are from; `now` is the wall clock.
    """

    def __init__(
        self, query: Query, warehouse: Path, wanted: Callable[[], tuple[SlackPolicy, str]] | None = None, now: int = NOW
    ) -> None:
        self.query, self.layout, self.now = query, Layout.of(warehouse, query.name), now
        declared = query.policy, DECLARED
        self.wanted = wanted or (lambda: declared)
        feed = open_feed(query, self.layout, None, live=False)
        feed.fresh()
        origin = self.layout.create_checkpoint(query.structure(), feed.types, feed.identity)
        self.stage = Stage.of(query, origin.types, self.layout.table("history"))
        id_type = pa.int64() if is_integer(origin.types[self.stage.columns.id]) else pa.string()
        self.schemas = schemas(self.stage.kind.answer, id_type)
        past = history.schema(id_type, self.stage.kind.key_type, self.stage.columns.value_types())
        self.tables = Tables(self.layout)
        wanted_tables = self.schemas | ({} if self.stage.history is None else {"history": past})
        self.tables.create(wanted_tables, STREAM_TABLES)
        self.engine = LocalEngine(self.stage)

    def go(self, batch_rows: int = 1_000_000, flush: bool = False) -> int:
        """Read all that is there; with `flush` end the stream. Returns how many batches that took."""
        feed = open_feed(self.query, self.layout, self.layout.manifest(), live=False)
        stamps = self.query.stream[1].arrival_time is None
        plan = RunOptions(batch_rows, live=False, flush=flush)
        clock = (self.query.tick_ms, self.query.idle_ms, stamps, plan, lambda: self.now)
        intake = BatchPlanner(Journal(self.layout.journal), feed, feed.fresh(), self.wanted, *clock)
        done = 0
        while (entry := intake.plan(Progress.read(self.layout))) is not None:
            self._batch(entry)
            done += 1
        return done

    def _batch(self, entry) -> None:
        rows = self.engine.run(entry.header, entry.segments)
        wanted = self.schemas | {"history": history.FILES}
        write(self.tables, rows, wanted, entry.header.batch, datetime.fromtimestamp(self.now / 1000, UTC))
