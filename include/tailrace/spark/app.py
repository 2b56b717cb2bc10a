"""The stream app: a declared query over its source, live or to the end of what is there."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from tailrace.engine.stage import Stage
from tailrace.ground.retries import Retries
from tailrace.query.query import Query
from tailrace.sources import history
from tailrace.sources.feeds import Feed
from tailrace.sources.segments import Segment
from tailrace.spark.attempts import LOOK_S, SOURCE, Attempts, Progress, retried
from tailrace.spark.session import session
from tailrace.spark.sink import Sink
from tailrace.storage import checkpoint
from tailrace.storage.checkpoint import committed_batches
from tailrace.storage.journal import Journal
from tailrace.storage.layout import CheckpointManifest, Layout
from tailrace.storage.proposals import Proposals
from tailrace.storage.tables import STREAM_TABLES, Tables, schemas
from tailrace.stream.batch_planner import BatchPlanner, RunOptions
from tailrace.stream.source_opening import open_feed
from tailrace.stream.status_reporter import StatusReporter


def run(
    query: Query,
    warehouse: Path,
    plan: RunOptions = RunOptions(),  # noqa: B008 (frozen)
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
    origin = checkpoint.resumable(layout, query)
    waiting: list[Segment] = []
    if origin is None:  # what is wrong is refused before anything is written
        feed = open_feed(query, layout, origin, plan.live)
        waiting = feed.fresh()
        if not feed.types and not plan.live:  # no record yet, and so nothing that tells the types
            return 0
    with layout.lock("stream"):
        origin = checkpoint.resumable(layout, query)
        watch = StatusReporter(layout)
        if origin is not None:  # as it stands now: another may have gone on with it, or begun it, meanwhile
            opened = _opened_again(partial(open_feed, query, layout, origin, plan.live), plan, watch)
            if opened is None:
                watch.report("drained")
                return 0
            feed, waiting = opened
        waiting += _first_record(feed, watch)
        if not feed.types:  # drained before anything came
            watch.report("drained")
            return 0
        origin = origin or layout.create_checkpoint(query.structure(), feed.types, feed.identity)
        intake = BatchPlanner(
            Journal(layout.journal),
            feed,
            waiting,
            partial(Proposals(layout).settings_in_force, query.policy.model_dump_json()),
            query.tick_ms,
            query.idle_ms,
            stream.arrival_time is None,
            plan,
        )
        return _go(query, layout, origin, intake, watch, progress, spark)


def _opened_again(
    opened: Callable[[], Feed], plan: RunOptions, watch: StatusReporter
) -> tuple[Feed, list[Segment]] | None:
    """Open the source of a stream that goes on, and look into it; None when it is drained before that succeeds.

    A live stream waits for a source that is away: its driver may be back before a disk is.
    """
    retries = Retries()
    while not watch.drain_requested:
        if not plan.live:
            feed = opened()
            return feed, feed.fresh()
        if retries.due:
            with retried(retries, watch):
                feed = opened()
                return feed, feed.fresh()
        watch.report("waiting")
        time.sleep(LOOK_S)
    return None


def _first_record(feed: Feed, watch: StatusReporter) -> list[Segment]:
    """Wait for the first record of a live stream: it tells the types."""
    found: list[Segment] = []
    retries = Retries()
    while not feed.types and not watch.drain_requested:
        watch.report("waiting")
        time.sleep(LOOK_S)
        if retries.due:
            with retried(retries, watch):
                found += feed.fresh()
                watch.report_problem(SOURCE, feed.problem)
    return found


def _go(
    query: Query,
    layout: Layout,
    origin: CheckpointManifest,
    intake: BatchPlanner,
    watch: StatusReporter,
    progress: Progress | None,
    there: SparkSession | None,
) -> int:
    """Run what is planned, and what is to be planned; returns how many batches that were."""
    first, stage = committed_batches(layout), Stage.of(query, origin.types, layout.table("history"))
    watch.starting(first)
    if intake.batches == first:  # all that was planned is done
        intake.refuse_ended()
        if not intake.options.live and intake.plan() is None:
            return 0
    id_type = stage.kind.id_type
    wanted, tables = schemas(stage.kind.answer, id_type), Tables(layout)
    past = history.schema(id_type, stage.kind.key_type, list(stage.columns.values))
    tables.create(wanted | ({} if stage.history is None else {"history": past}), STREAM_TABLES)
    sink = Sink(tables, wanted | {"history": history.FILES}, origin.id)
    own = session(f"tailrace {query.name}", query.parallelism)
    with own if there is None else nullcontext(there) as spark:
        Attempts(layout, stage, intake, watch, sink, progress).run(spark)
    watch.report("ended" if intake.ended else "drained", intake.rows_left)
    return intake.batches - first
