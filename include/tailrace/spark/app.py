"""The stream app: a declared query over its source, live or to the end of what is there."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tailrace.errors import refuse
from tailrace.query import Query
from tailrace.spark.commits import committed_until
from tailrace.spark.intake import Intake, Plan
from tailrace.spark.journal import Journal
from tailrace.spark.layout import Layout, Origin
from tailrace.spark.operator import labels, run_tasks
from tailrace.spark.proposals import Proposals
from tailrace.spark.session import session
from tailrace.spark.sink import Sink
from tailrace.spark.source import read_journal
from tailrace.spark.sources import open_feed
from tailrace.spark.tables import STREAM_TABLES, Tables, schemas
from tailrace.spark.watch import Watch
from tailrace.stage import Stage
from tailrace.streams import history
from tailrace.streams.feeds import Feed
from tailrace.streams.segments import Segment

Progress = Callable[[int, int, dict[str, pa.Table]], None]
"""Told after each batch: its number, how many rows are still to be read, and the rows it gave to each table."""

_LOOK_S = 0.2  # how often a live run looks for what is new, for a wish to drain, and says that it lives


def run(
    query: Query,
    warehouse: Path,
    plan: Plan = Plan(),  # noqa: B008 (frozen)
    progress: Progress | None = None,
    spark: SparkSession | None = None,
) -> int:
    """Run the query from where its checkpoint stands: to the end of its input, or until it is asked to drain.

    Parameters
    ----------
    spark : SparkSession, optional
        A session that is there, with as many shuffle partitions as the query's parallelism; else one of its own.

    Returns
    -------
    int
        How many batches were run.

    Raises
    ------
    Refused
        When the source is not fit, or the checkpoint is closed, in use, or was begun for another query.
    """
    layout, stream = Layout.of(warehouse, query.name), query.stream[1]
    origin = layout.origin()
    if origin is not None:
        layout.agree(origin, query.structure())
    elif layout.table("metrics").exists():
        raise refuse(
            str(layout.stream), "it is lost, though the stream's tables are there", "to restore it; or to begin anew"
        )
    waiting: list[Segment] = []
    if origin is None:  # what is wrong is refused before anything is written
        feed = open_feed(query, layout, origin, plan.live)
        waiting = feed.fresh()
        if not feed.types and not plan.live:  # no record yet, and so nothing that tells the types
            return 0
    with layout.lock("stream"):
        origin = layout.origin()
        if origin is not None:  # as it stands now: another may have gone on with it, or begun it, meanwhile
            feed = open_feed(query, layout, origin, plan.live)
            waiting = feed.fresh()
        watch = Watch(layout)
        waiting += _first_record(feed, watch)
        if not feed.types:  # drained before anything came
            watch.say("drained")
            return 0
        origin = origin or layout.found(query.structure(), feed.types, feed.identity)
        stage = Stage.of(query, origin.types, layout.table("history"))
        intake = Intake(
            Journal(layout.journal),
            feed,
            waiting,
            partial(Proposals(layout).wanted, query.policy.model_dump_json()),
            query.tick_ms,
            query.idle_ms,
            stream.arrival_time is None,
            plan,
        )
        return _Run(query, layout, origin, stage, intake, watch, progress).go(spark)


def _first_record(feed: Feed, watch: Watch) -> list[Segment]:
    """Wait for the first record of a live stream: it tells the types."""
    found: list[Segment] = []
    while not feed.types and not watch.drains:
        watch.say("waiting")
        time.sleep(_LOOK_S)
        found += feed.fresh()
    return found


@dataclass(frozen=True)
class _Run:
    query: Query
    layout: Layout
    origin: Origin
    stage: Stage
    intake: Intake
    watch: Watch
    progress: Progress | None
    written: queue.SimpleQueue[tuple[int, dict[str, pa.Table]]] = field(default_factory=queue.SimpleQueue)
    """What the sink has written of each batch; from its thread to this one."""

    def go(self, there: SparkSession | None) -> int:
        first = self.committed()
        self.watch.begin(first)
        if self.intake.batches == first:  # all that was planned is done
            self.intake.refuse_ended()
            if not self.intake.plan_as.live and self.intake.plan() is None:
                return 0
        id_type = self.stage.kind.id_type
        wanted, tables = schemas(self.stage.kind.answer, id_type), Tables(self.layout)
        past = history.schema(id_type, self.stage.kind.key_type, list(self.stage.columns.values))
        tables.create(wanted | ({} if self.stage.history is None else {"history": past}), STREAM_TABLES)
        sink = Sink(tables, wanted | {"history": history.FILES}, self.origin.id, lambda *done: self.written.put(done))
        own = session(f"tailrace {self.query.name}", self.query.parallelism)
        with own if there is None else nullcontext(there) as spark:
            groups = labels(spark, self.query.parallelism)
            rows = read_journal(spark, self.intake.journal, self.stage, groups)
            output = run_tasks(rows, self.stage, groups).writeStream.foreachBatch(sink.write)
            stream = output.option("checkpointLocation", str(self.layout.checkpoint)).start()
            try:
                self.go_on(stream, first)
            finally:
                stream.stop()
        self.watch.say("ended" if self.intake.ended else "drained", self.intake.rows_left)
        return self.intake.batches - first

    def go_on(self, stream: StreamingQuery, done: int) -> None:
        """Plan a batch whenever the one before is written, until there is no more to do; `done` are written."""
        committed = committed_until(self.layout)
        while stream.isActive:
            idle = done == self.intake.batches
            if idle and not self.watch.drains and self.intake.plan(committed) is not None:
                continue
            over = self.watch.drains or self.intake.ended or not self.intake.plan_as.live
            if idle and over and self.committed() == done:
                return
            self.watch.say(self.intake.state if idle else "streaming", self.intake.rows_left)
            try:
                batch, tables = self.written.get(timeout=0.02 if not self.intake.plan_as.live else _LOOK_S)
            except queue.Empty:
                continue
            done, committed = batch + 1, self.watch.see(batch, tables)
            self.intake.learn(*(sum(tables["metrics"][name].to_pylist()) for name in ("rows", "partials", "answers")))
            if self.progress is not None:
                self.progress(batch, self.intake.rows_left, tables)
        failure = stream.exception()
        raise RuntimeError(f"the stream failed: {_reason(failure) if failure else 'Spark has stopped it'}")

    def committed(self) -> int:
        """How many batches Spark has committed."""
        commits = self.layout.checkpoint / "commits"
        done = [int(file.name) for file in commits.iterdir() if file.name.isdigit()] if commits.is_dir() else []
        return max(done, default=-1) + 1


def _reason(failure: Any) -> str:
    """What a failed stream died of: the innermost cause, without the plan that Spark prints."""
    while failure._cause is not None:
        failure = failure._cause
    return str(failure._desc).strip()
