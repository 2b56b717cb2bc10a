"""A driver of a declared query without Spark: the product's planner, stage, tasks and sink in this process.

Spark's part is here: the offsets are logged before a batch, its state and its commit after it. A driver that dies in
between is followed by one that starts from the last commit and runs what the journal has beyond it again.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from tailrace.disorder.policy import SlackPolicy
from tailrace.engine.feedback import Feedback
from tailrace.engine.local import LocalEngine
from tailrace.engine.task_states import TaskStates
from tailrace.ground.files import write_atomically
from tailrace.ground.times import TIME, in_ms, with_times
from tailrace.ground.written_files import FILES
from tailrace.query.query import Query
from tailrace.sources import history
from tailrace.spark import app
from tailrace.spark.sink import Sink
from tailrace.storage import checkpoint
from tailrace.storage.journal import BatchRecord, Journal
from tailrace.storage.layout import Layout
from tailrace.storage.progress import read_progress
from tailrace.storage.proposals import Proposals
from tailrace.storage.replay import Replay, merged
from tailrace.storage.table_schemas import history_schemas, schemas, stream_tables
from tailrace.storage.tables import Tables
from tailrace.stream.batch_planner import BatchPlanner
from tailrace.stream.entry_writer import EntryWriter
from tailrace.stream.planned_rebuild import Rebuild
from tailrace.stream.rebuild import rebuild
from tailrace.stream.run_options import RunOptions
from tailrace.stream.source_opening import open_feeds
from tailrace.stream.steady_clock import SteadyClock

NOW = 1_800_000_000_000
FILE = Path("readings.yaml")


@dataclass
class Driver:
    """The drivers of one query, one after the other."""

    query: Query
    warehouse: Path | str
    step: Callable[[str], None] = lambda name: None

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
            options = RunOptions(batch_rows, live=False, flush=flush)
            table = app._open_table(self.query, layout, manifest, options)
            feeds = open_feeds(self.query, layout, manifest, live=False)
            waiting = {name: feed.fresh() for name, feed in feeds.items()}
            manifest = manifest or app._create_checkpoint(self.query, layout, feeds, table)
            stage = app._stage(self.query, layout, manifest)
            feedback = Feedback(stage.kind, stage.tasks, manifest.plans_from)
            histories = history_schemas(stage.readers)
            tables, of_tables = Tables(layout), schemas(stage.kind)
            tables.create(of_tables | histories, stream_tables(histories))
            of_tables |= dict.fromkeys(histories, history.FILES) | ({"results": FILES} if stage.answer_files else {})
            planner = BatchPlanner(
                EntryWriter(Journal(layout.journal)),
                feeds,
                waiting,
                self.wanted,
                self.query.tick_ms,
                self.query.idle_ms,
                {name for name, stream in self.query.streams.items() if stream.arrival_time is None},
                feedback,
                options,
                partial(SteadyClock, wall=lambda: NOW, steady_s=lambda: 0.0),
                table=table,
            )
            engine = LocalEngine(stage, restarts=False)
            done = self._restore(layout, engine)
            sink = self.sink(tables, of_tables, manifest.id, engine=engine)
            while True:
                if done < planner.batches:
                    planner.observe(in_ms(self._batch(layout, sink, planner.journal[done])).to_pylist())
                    done += 1
                elif planner.plan(read_progress(layout)) is None:
                    return

    def rebuild(self, query: Query) -> None:
        """Rebuild the stream for a query, which later drivers run."""
        rebuild(query, self.layout, FILE, self._run_rebuild)
        self.query = query

    def _run_rebuild(self, planned: Rebuild) -> None:
        """Run the batches of a rebuild, as `spark.rebuild` does."""
        built, stage, replay = planned.built, planned.stage, Replay.read(planned.built.checkpoint)
        histories, of_tables, tables = history_schemas(stage.readers), schemas(stage.kind), Tables(built)
        tables.create(of_tables | histories, stream_tables(histories))
        engine = LocalEngine(stage, restarts=False)
        of_tables |= dict.fromkeys(histories, history.FILES) | ({"results": FILES} if stage.answer_files else {})
        sink = LocalSink(tables, of_tables, planned.manifest.id, entries=planned.in_tables, engine=engine)
        done, planner = 0, planned.planner
        while done < planner.batches:
            entries = [planner.journal[number] for number in range(done, replay.end(done))]
            self._batch(built, sink, merged(entries))
            done += len(entries)

    def wanted(self) -> tuple[SlackPolicy, str]:
        return Proposals(self.layout).settings_in_force(self.query.policy)

    def _batch(self, layout: Layout, sink: LocalSink, entry: BatchRecord) -> pa.Table:
        """Run a batch, and commit it; returns its rows of `metrics`."""
        number, spark_batch = entry.header.batch, len([*(layout.checkpoint / "commits").glob("*")])
        self._log(layout, "offsets", spark_batch)
        self.step("offsets")
        metrics = sink.write(entry, number)["metrics"]
        self.step("state")
        pack = zip(sink.engine.tasks, sink.engine.newest, strict=True)
        states = number + 1, [batch.state.pack(task.store) for task, batch in pack]
        write_atomically(layout.checkpoint / "states", pickle.dumps(states))
        self._log(layout, "commits", spark_batch)
        self._restore(layout, sink.engine)
        return metrics

    def _restore(self, layout: Layout, engine: LocalEngine) -> int:
        """Start from the newest commit: only then are chunks deleted that the states name no more.

        Returns the number of committed entries.
        """
        try:
            done, states = pickle.loads((layout.checkpoint / "states").read_bytes())
        except FileNotFoundError:
            return 0
        engine.states = [task.restore(state) for task, state in zip(engine.tasks, states, strict=True)]
        return done

    def _log(self, layout: Layout, name: str, number: int) -> None:
        log = layout.checkpoint / name
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


@dataclass
class BucketDriver(Driver):
    """Drivers of a query in an object store: the states are objects there, and the note of the tables is the commit."""

    @property
    def sink(self) -> type[LocalSink]:
        return BucketSink

    def _batch(self, layout: Layout, sink: LocalSink, entry: BatchRecord) -> pa.Table:
        self.step("offsets")
        metrics = sink.write(entry, entry.header.batch)["metrics"]
        self._restore(layout, sink.engine)
        return metrics

    def _restore(self, layout: Layout, engine: LocalEngine) -> int:
        states, done = TaskStates(layout.states), checkpoint.committed_batches(layout)
        engine.states = [task.restore(states.read(task.index, done - 1)) for task in engine.tasks]
        return done


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
