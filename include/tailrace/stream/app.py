"""Runs a declared query over its sources, live or to the end of the input, on an engine of the caller's choice."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

from tailrace.engine.executor import Executor
from tailrace.engine.feedback import Feedback
from tailrace.engine.pipeline import Pipeline
from tailrace.engine.task_states import TaskStates
from tailrace.query.query import Query
from tailrace.storage import checkpoint
from tailrace.storage.checkpoint import committed_batches
from tailrace.storage.holding import retry_while_away
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest
from tailrace.storage.progress import read_progress
from tailrace.storage.proposals import Proposals
from tailrace.storage.warehouses import Warehouse
from tailrace.storage.writer import only_driver
from tailrace.stream.answer_topic import AnswerTopic, check_answer_topic
from tailrace.stream.batch_planner import BatchPlanner
from tailrace.stream.entry_writer import EntryWriter
from tailrace.stream.opening import OpenSources, create_checkpoint, open_table, pipeline_of, reopen
from tailrace.stream.orphans import sweep
from tailrace.stream.run import OnBatch, StreamRun
from tailrace.stream.run_options import RunOptions
from tailrace.stream.sink import Sink
from tailrace.stream.source_bins import require_bins
from tailrace.stream.source_sample import require_types
from tailrace.stream.status_reporter import StatusReporter
from tailrace.stream.stream_tables import StreamTables

OpenExecutor = Callable[[Pipeline, TaskStates], AbstractContextManager[Executor]]
"""Starts an engine for a stream's pipeline and the states of its tasks; it is closed at the end of the block."""


def run(
    query: Query, warehouse: Warehouse, options: RunOptions, on_batch: OnBatch | None, open_executor: OpenExecutor
) -> int:
    """Run the query from its checkpoint on, to the end of its input, or until it is asked to drain.

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

    def open_sources(manifest: CheckpointManifest | None) -> OpenSources:
        return OpenSources.of(query, layout, manifest, options.live, report_progress)

    manifest = retry_while_away(partial(checkpoint.resumable, layout, query), lambda: options.live and layout.is_remote)
    check_answer_topic(query, is_new=manifest is None)
    if manifest is None:  # what is wrong is refused before anything is written
        table = open_table(query, layout, manifest, options.live)
        sources = open_sources(manifest)
        if not sources.have_types and not options.live:  # a stream has no record yet, so its types are not known
            return 0
        if sources.have_types:
            require_types(query, sources.types, None if table is None else table.types)
    with only_driver(layout, waits=options.live and manifest is not None) as require_held:
        manifest = checkpoint.resumable(layout, query)
        reporter = StatusReporter(layout, options.grace_s)
        if manifest is not None:  # read again: another process may have changed or created it meanwhile
            reopened = reopen(partial(open_sources, manifest), options.live, reporter)
            if reopened is None:
                reporter.report("drained")
                return 0
            sources = reopened
        sources.await_first_records(reporter)
        if not sources.have_types:  # drained before anything came
            reporter.report("drained")
            return 0
        table = table if manifest is None else open_table(query, layout, manifest, options.live)
        require_types(query, sources.types, None if table is None else table.types)  # settings may change in between
        if manifest is None:
            query = require_bins(query)
        manifest = manifest or create_checkpoint(query, layout, sources.feeds, table)
        query = query.fixed_by(manifest.structure)
        pipeline = pipeline_of(query, layout, manifest)
        planner = BatchPlanner(
            EntryWriter(Journal(layout.journal), require_held),
            sources.feeds,
            sources.segments,
            partial(Proposals(layout).settings_in_force, query.policy),
            query.tick_ms,
            query.idle_ms,
            {name for name, stream in query.streams.items() if stream.is_stamped},
            Feedback(pipeline.kind, pipeline.tasks, manifest.plans_from),
            options,
            table=table,
        )
        return _run_batches(query, layout, manifest, pipeline, planner, reporter, on_batch, open_executor)


def _run_batches(
    query: Query,
    layout: Layout,
    manifest: CheckpointManifest,
    pipeline: Pipeline,
    planner: BatchPlanner,
    reporter: StatusReporter,
    on_batch: OnBatch | None,
    open_executor: OpenExecutor,
) -> int:
    """Run the batches that are planned already, and plan and run more; returns how many were run."""
    committed = committed_batches(layout)
    reporter.starting(committed)
    is_done = planner.batches == committed and not planner.options.live  # all that was planned
    if is_done and planner.plan_batch(read_progress(layout)) is None:
        reporter.report("ended" if planner.ended else "drained")
        return 0
    require_held = planner.writer.require_held
    tables = StreamTables.of(layout, pipeline, manifest.id)
    require_held()
    tables.create()
    require_held()  # it deletes what no table names, and another driver may be about to name it
    sweep(layout, planner.journal, tables.staged, committed)
    sink = Sink(tables, AnswerTopic.of(query, pipeline.kind.answers), require_held)
    with open_executor(pipeline, TaskStates(layout.states)) as executor:
        StreamRun(layout, planner, reporter, sink, executor, committed, on_batch).run()
    reporter.report("ended" if planner.ended and not planner.options.live else "drained", planner.rows_left)
    return planner.batches - committed
