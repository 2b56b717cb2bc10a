"""A driver of a declared query without Spark: the product's planner, stage, tasks and sink in this process.

Spark's part is here: the offsets are logged before a batch, its state and its commit after it. A driver that dies in
between is followed by one that starts from the last commit and runs what the journal has beyond it again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest

from tailrace.disorder.policy import SlackPolicy
from tailrace.engine.feedback import Feedback
from tailrace.engine.local import LocalEngine
from tailrace.ground.times import TIME, in_ms, with_times
from tailrace.ground.written_files import FILES
from tailrace.query.query import Query
from tailrace.spark import app
from tailrace.spark.sink import Sink
from tailrace.storage import checkpoint
from tailrace.storage.journal import BatchRecord, Journal
from tailrace.storage.layout import Layout
from tailrace.storage.progress import read_progress
from tailrace.storage.proposals import Proposals
from tailrace.storage.table_schemas import history_schemas, schemas, stream_tables
from tailrace.storage.tables import Tables
from tailrace.stream.batch_planner import BatchPlanner
from tailrace.stream.run_options import RunOptions
from tailrace.stream.source_opening import open_feeds

NOW = 1_800_000_000_000


@dataclass
class Driver:
    """The drivers of one query, one after the other; `states` is what is committed of the tasks, by batch."""

    query: Query
    warehouse: Path
    step: Callable[[str], None] = lambda name: None
    states: list[list[bytes]] = field(default_factory=list)

    @property
    def layout(self) -> Layout:
        return Layout.of(self.warehouse, self.query.name)

    def run(self, batch_rows: int, flush: bool = False) -> None:
        """Start a driver that reads all there is."""
        layout = self.layout
        with layout.lock("stream"):
            manifest = checkpoint.resumable(layout, self.query)
            options = RunOptions(batch_rows, live=False, flush=flush)
            table = app._open_table(self.query, layout, manifest, options)
            feeds = open_feeds(self.query, layout, manifest, live=False)
            waiting = {name: feed.fresh() for name, feed in feeds.items()}
            manifest = manifest or app._create_checkpoint(self.query, layout, feeds, table)
            stage = app._stage(self.query, layout, manifest)
            histories, feedback = history_schemas(stage.readers), Feedback(stage.kind, stage.tasks)
            tables, of_tables = Tables(layout), schemas(stage.kind)
            tables.create(of_tables | histories, stream_tables(histories))
            of_tables |= dict.fromkeys(histories, FILES) | ({"results": FILES} if stage.answer_files else {})
            planner = BatchPlanner(
                Journal(layout.journal),
                feeds,
                waiting,
                self.wanted,
                self.query.tick_ms,
                self.query.idle_ms,
                {name for name, stream in self.query.streams.items() if stream.arrival_time is None},
                feedback,
                options,
                lambda: NOW,
                table=table,
            )
            engine = LocalEngine(stage, restarts=False)
            self._restore(engine)
            sink = LocalSink(tables, of_tables, manifest.id, engine=engine)
            while True:
                number = len(self.states)
                if number < planner.batches:
                    planner.observe(in_ms(self._batch(sink, planner.journal[number])).to_pylist())
                elif planner.plan(read_progress(layout)) is None:
                    return

    def wanted(self) -> tuple[SlackPolicy, str]:
        return Proposals(self.layout).settings_in_force(self.query.policy)

    def _batch(self, sink: LocalSink, entry: BatchRecord) -> pa.Table:
        """Run a batch, and commit it; returns its rows of `metrics`."""
        number = entry.header.batch
        self._log("offsets", number)
        self.step("offsets")
        metrics = sink.write(entry, number)["metrics"]
        self.step("state")
        pack = zip(sink.engine.tasks, sink.engine.newest, strict=True)
        self.states.append([batch.state.pack(task.store) for task, batch in pack])
        self._log("commits", number)
        self._restore(sink.engine)
        return metrics

    def _restore(self, engine: LocalEngine) -> None:
        """Start from the newest commit: only then are chunks deleted that the states name no more."""
        if self.states:
            engine.states = [task.restore(state) for task, state in zip(engine.tasks, self.states[-1], strict=True)]

    def _log(self, name: str, number: int) -> None:
        log = self.layout.checkpoint / name
        log.mkdir(parents=True, exist_ok=True)
        (log / str(number)).touch()


@dataclass(frozen=True, kw_only=True)
class LocalSink(Sink):
    """The sink, whose plan is executed in process."""

    engine: LocalEngine

    def execute(self, rows: BatchRecord) -> dict[str, pa.Table]:
        found = self.engine.run(rows.header, rows.segments)
        now = pa.scalar(NOW * 1000, TIME)
        if "results" in found and self.schemas["results"] is not FILES:
            part = found["results"]
            found["results"] = part.append_column("emitted_at", pa.repeat(now, part.num_rows))
        return {name: with_times(part, self.schemas[name]) for name, part in found.items()}


def no_spark(buckets: int) -> None:
    """The scan of a history that is too large for one process."""
    pytest.fail("so little needs no Spark")
