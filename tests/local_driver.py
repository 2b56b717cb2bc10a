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
from tailrace.engine.stage import Stage
from tailrace.engine.task_states import TaskStates
from tailrace.ground.times import TIME, in_ms, with_times
from tailrace.query.query import Query
from tailrace.sources import history
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
    warehouse: Path | str
    step: Callable[[str], None] = lambda name: None
    states: list[list[bytes]] = field(default_factory=list)

    @property
    def sink(self) -> type[LocalSink]:
        return LocalSink

    @property
    def layout(self) -> Layout:
        return Layout.of(self.warehouse, self.query.name)

    def run(self, batch_rows: int, flush: bool = False) -> None:
        """Start a driver that reads all there is."""
        layout = self.layout
        with layout.lock("stream"):
            manifest = checkpoint.resumable(layout, self.query)
            feeds = open_feeds(self.query, layout, manifest, live=False)
            waiting = {name: feed.fresh() for name, feed in feeds.items()}
            if manifest is None:
                types = {name: feed.types for name, feed in feeds.items()}
                manifest = layout.create_checkpoint(self.query.structure(), types, {})
            stage = Stage.of(self.query, manifest.types, layout.histories(self.query.streams), layout.chunks)
            histories, feedback = history_schemas(stage.readers), Feedback(stage.kind, stage.tasks)
            tables, of_tables = Tables(layout), schemas(stage.kind)
            tables.create(of_tables | histories, stream_tables(histories))
            planner = BatchPlanner(
                Journal(layout.journal),
                feeds,
                waiting,
                self.wanted,
                self.query.tick_ms,
                self.query.idle_ms,
                {name for name, stream in self.query.streams.items() if stream.arrival_time is None},
                feedback,
                RunOptions(batch_rows, live=False, flush=flush),
                lambda: NOW,
            )
            engine = LocalEngine(stage, restarts=False)
            self._restore(engine)
            sink = self.sink(tables, of_tables | dict.fromkeys(histories, history.FILES), manifest.id, engine=engine)
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
        if "results" in found:
            part = found["results"]
            found["results"] = part.append_column("emitted_at", pa.repeat(now, part.num_rows))
        return {name: with_times(part, self.schemas[name]) for name, part in found.items()}


@dataclass
class BucketDriver(Driver):
    """Drivers of a query in an object store: the states are objects there, and the note of the tables is the commit."""

    @property
    def sink(self) -> type[LocalSink]:
        return BucketSink

    def run(self, batch_rows: int, flush: bool = False) -> None:
        self.states = [[]] * checkpoint.committed_batches(self.layout)
        super().run(batch_rows, flush)

    def _batch(self, sink: LocalSink, entry: BatchRecord) -> pa.Table:
        self.step("offsets")
        metrics = sink.write(entry, entry.header.batch)["metrics"]
        self.states.append([])
        self._restore(sink.engine)
        return metrics

    def _restore(self, engine: LocalEngine) -> None:
        states, newest = TaskStates(self.layout.states), checkpoint.committed_batches(self.layout) - 1
        engine.states = [task.restore(states.read(task.index, newest)) for task in engine.tasks]


@dataclass(frozen=True, kw_only=True)
class BucketSink(LocalSink):
    """The sink whose plan writes the tasks' states."""

    def execute(self, rows: BatchRecord) -> dict[str, pa.Table]:
        found, states = super().execute(rows), TaskStates(self.tables.layout.states)
        for task, batch in zip(self.engine.tasks, self.engine.newest, strict=True):
            states.write(task.index, rows.header.batch, batch.state.pack(task.store))
        return found


def no_spark(buckets: int) -> None:
    """The scan of a history that is too large for one process."""
    pytest.fail("so little needs no Spark")
