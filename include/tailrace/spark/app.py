"""The stream app: runs a declared query over its source, live or to the end of the input."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from pyspark.sql import SparkSession

from tailrace.engine.answer_files import AnswerFiles
from tailrace.engine.feedback import Feedback
from tailrace.engine.stage import Stage
from tailrace.engine.stream_reader import TABLE, columns_of, named_types
from tailrace.engine.task_states import TaskStates
from tailrace.ground.connections import connection_variables
from tailrace.ground.object_path import ObjectPath
from tailrace.ground.retries import Retries
from tailrace.ground.written_files import FILES
from tailrace.query.query import Query
from tailrace.sources import history
from tailrace.sources.feed import Feed
from tailrace.sources.segments import Segment
from tailrace.spark.attempts import POLL_S, SOURCE, Attempts, OnBatch, retried
from tailrace.spark.session import session
from tailrace.spark.sink import Sink
from tailrace.spark.warm_up import warming_up
from tailrace.storage import checkpoint
from tailrace.storage.checkpoint import committed_batches
from tailrace.storage.holding import retry_while_away
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest
from tailrace.storage.progress import read_progress
from tailrace.storage.proposals import Proposals
from tailrace.storage.table_schemas import history_schemas, schemas, stream_tables
from tailrace.storage.tables import Tables
from tailrace.storage.warehouses import Warehouse, connections_of
from tailrace.storage.writer import only_driver
from tailrace.stream.answer_topic import AnswerTopic, check_answer_topic
from tailrace.stream.batch_planner import BatchPlanner
from tailrace.stream.entry_writer import EntryWriter
from tailrace.stream.orphans import sweep
from tailrace.stream.run_options import RunOptions
from tailrace.stream.source_bins import require_bins
from tailrace.stream.source_opening import open_feeds, problem_of
from tailrace.stream.source_sample import require_zones
from tailrace.stream.status_reporter import StatusReporter
from tailrace.stream.table_versions import TableVersions

Segments = dict[str, list[Segment]]
"""Segments by the name of their stream."""


def run(
    query: Query,
    warehouse: Warehouse,
    plan: RunOptions = RunOptions(),  # noqa: B008 (frozen)
    progress: OnBatch | None = None,
    spark: SparkSession | None = None,
) -> int:
    """Run the query from its checkpoint on, to the end of its input, or until it is asked to drain.

    Parameters
    ----------
    spark : SparkSession, optional
        An open session, with as many shuffle partitions as the query's parallelism; by default the run opens its own.

    Returns
    -------
    int
        The number of batches that were run.

    Raises
    ------
    Refused
        When the source is not fit, or the checkpoint is in use, or was begun for another query.
    """
    layout = Layout.of(warehouse, query.name)
    reporter: StatusReporter | None = None

    def report_progress() -> None:
        if reporter is not None:
            reporter.report_alive()

    manifest = retry_while_away(partial(checkpoint.resumable, layout, query), lambda: plan.live and layout.is_remote)
    check_answer_topic(query, is_new=manifest is None)
    if manifest is None:  # what is wrong is refused before anything is written
        table = _open_table(query, layout, manifest, plan)
        feeds, segments = _open(query, layout, manifest, plan, report_progress)
        if not _have_types(feeds) and not plan.live:  # a stream has no record yet, so its types are not known
            return 0
    with only_driver(layout, waits=plan.live and manifest is not None) as require_held:
        manifest = checkpoint.resumable(layout, query)
        reporter = StatusReporter(layout)
        if manifest is not None:  # read again: another process may have changed or created it meanwhile
            source = _reopen(partial(_open, query, layout, manifest, plan, report_progress), plan, reporter)
            if source is None:
                reporter.report("drained")
                return 0
            feeds, segments = source
        _await_first_records(feeds, segments, reporter)
        if not _have_types(feeds):  # drained before anything came
            reporter.report("drained")
            return 0
        table = table if manifest is None else _open_table(query, layout, manifest, plan)
        if manifest is None:
            require_zones(query, {name: feed.types for name, feed in feeds.items()})
            query = require_bins(query)
        manifest = manifest or _create_checkpoint(query, layout, feeds, table)
        query = query.fixed_by(manifest.structure)
        stage = _stage(query, layout, manifest)
        planner = BatchPlanner(
            EntryWriter(Journal(layout.journal), require_held),
            feeds,
            segments,
            partial(Proposals(layout).settings_in_force, query.policy),
            query.tick_ms,
            query.idle_ms,
            {name for name, stream in query.streams.items() if stream.is_stamped},
            Feedback(stage.kind, stage.tasks, manifest.plans_from),
            plan,
            table=table,
        )
        return _run_batches(query, layout, manifest, stage, planner, reporter, progress, spark)


def _open(
    query: Query,
    layout: Layout,
    manifest: CheckpointManifest | None,
    plan: RunOptions,
    on_progress: Callable[[], None],
) -> tuple[dict[str, Feed], Segments]:
    """Open the sources of a query's streams, and read what is new."""
    feeds = open_feeds(query, layout, manifest, plan.live, on_progress)
    return feeds, {name: feed.fresh() for name, feed in feeds.items()}


def _have_types(feeds: Mapping[str, Feed]) -> bool:
    return all(feed.types for feed in feeds.values())


def _open_table(
    query: Query, layout: Layout, manifest: CheckpointManifest | None, plan: RunOptions
) -> TableVersions | None:
    """Open the query's dimension table, if it has one; a new query is refused if the table is not fit."""
    if query.table is None:
        return None
    types = manifest.types[TABLE] if manifest else None
    return TableVersions(query.table, layout.table_versions, types, waits=plan.live)


def _create_checkpoint(
    query: Query, layout: Layout, feeds: Mapping[str, Feed], table: TableVersions | None = None
) -> CheckpointManifest:
    types = {name: feed.types for name, feed in feeds.items()}
    if table is not None:
        types[TABLE] = named_types(table.types)
    identities = {name: feed.identity for name, feed in feeds.items() if feed.identity}
    columns = {name: each.named() for name, each in columns_of(query).items()}
    return layout.create_checkpoint(query.structure(), types, identities, columns)


def _reopen(
    open_sources: Callable[[], tuple[dict[str, Feed], Segments]], plan: RunOptions, reporter: StatusReporter
) -> tuple[dict[str, Feed], Segments] | None:
    """Open the sources of a resumed query, and read what is new; None when it is drained before that succeeds.

    A live run waits for a source that is away: its driver may be back before a disk is.
    """
    retries = Retries()
    while not reporter.drain_requested:
        if not plan.live:
            return open_sources()
        if retries.due:
            with retried(retries, reporter):
                return open_sources()
        reporter.report("waiting")
        time.sleep(POLL_S)
    return None


def _await_first_records(feeds: Mapping[str, Feed], segments: Segments, reporter: StatusReporter) -> None:
    """Wait for the first record of each live stream, as only a record gives the types; adds to the segments."""
    retries = Retries()
    while not _have_types(feeds) and not reporter.drain_requested:
        reporter.report("waiting")
        time.sleep(POLL_S)
        if retries.due:
            with retried(retries, reporter):
                for name, feed in feeds.items():
                    segments[name] += feed.fresh()
                reporter.report_problem(SOURCE, problem_of(feeds))


def _stage(query: Query, layout: Layout, manifest: CheckpointManifest) -> Stage:
    stage = Stage.of(query, manifest.types, layout.histories(query.streams), layout.chunks)
    stage = replace(stage, plans_from=manifest.plans_from)
    if isinstance(layout.states, ObjectPath):
        stage = replace(stage, states=TaskStates(layout.states))
    if query.table is None:
        return stage
    results = layout.table("results"), schemas(stage.kind)["results"]
    return replace(stage, answer_files=AnswerFiles(*results, layout.table_versions))


def _run_batches(
    query: Query,
    layout: Layout,
    manifest: CheckpointManifest,
    stage: Stage,
    planner: BatchPlanner,
    reporter: StatusReporter,
    progress: OnBatch | None,
    open_session: SparkSession | None,
) -> int:
    """Run the batches that are planned already, and plan and run more; returns how many were run."""
    committed = committed_batches(layout)
    reporter.starting(committed)
    is_done = planner.batches == committed and not planner.options.live  # all that was planned
    if is_done and planner.plan(read_progress(layout)) is None:
        reporter.report("ended" if planner.ended else "drained")
        return 0
    table_schemas, tables = schemas(stage.kind), Tables(layout)
    histories = history_schemas(stage.readers)
    planner.writer.require_held()
    tables.create(table_schemas | histories, stream_tables(histories))
    written = dict.fromkeys(histories, history.FILES) | ({"results": FILES} if stage.answer_files else {})
    planner.writer.require_held()  # it deletes what no table names, and another driver may be about to name it
    sweep(layout, planner.journal, written, committed)
    answer_topic = AnswerTopic.of(query, stage.kind.answers)
    sink = Sink(tables, table_schemas | written, manifest.id, answer_topic, planner.writer.require_held)
    attempts = Attempts(layout, stage, planner, reporter, sink, progress)
    if open_session is not None:
        attempts.run(open_session)
    else:
        variables = connection_variables([*query.connections, *connections_of(layout.home)])
        opened = session(f"tailrace {query.name}", query.parallelism, environment=variables)
        with opened as spark, warming_up(spark, stage):
            attempts.run(spark)
    reporter.report("ended" if planner.ended and not planner.options.live else "drained", planner.rows_left)
    return planner.batches - committed
