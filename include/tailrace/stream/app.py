"""Runs a declared query over its sources, live or to the end of the input, on an engine chosen by the caller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial

from tailrace.delivery.answer_topic import AnswerTopic, check_answer_topic
from tailrace.delivery.places import check_places, places_of
from tailrace.delivery.topic_answers import begin_topic
from tailrace.engine.compiled_query import CompiledQuery
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
from tailrace.storage.tables import Tables
from tailrace.storage.warehouses import Warehouse
from tailrace.storage.writer import only_driver
from tailrace.stream.activity_log import ActivityLog
from tailrace.stream.batch_planner import BatchPlanner
from tailrace.stream.delivery import Delivery, complete
from tailrace.stream.entry_writer import EntryWriter
from tailrace.stream.opening import OpenSources, create_checkpoint, first_types, open_tables, pipeline_of, reopen
from tailrace.stream.orphans import sweep
from tailrace.stream.run import OnBatch, StreamRun
from tailrace.stream.run_options import RunOptions
from tailrace.stream.sink import Sink
from tailrace.stream.source_bins import require_bins
from tailrace.stream.source_sample import require_types
from tailrace.stream.status_reporter import StatusReporter
from tailrace.stream.stream_tables import StreamTables
from tailrace.stream.table_versions import TableVersions
from tailrace.stream.task_number import TaskNumber
from tailrace.stream.written_answers import noting_written

OpenExecutor = Callable[[Pipeline, TaskStates], AbstractContextManager[Executor]]
"""Starts an engine for a stream's pipeline and the states of its tasks; it is closed at the end of the block."""


def run(
    query: Query, warehouse: Warehouse, options: RunOptions, on_batch: OnBatch | None, open_executor: OpenExecutor
) -> int:
    """Run the query from its checkpoint to the end of its input, or until a drain is requested.

    Returns
    -------
    int
        The number of batches run.

    Raises
    ------
    Refused
        When the source does not fit, or the checkpoint is in use or belongs to another query.
    """
    layout = Layout.for_query(warehouse, query.name)
    reporter: StatusReporter | None = None

    def report_progress() -> None:
        if reporter is not None:
            reporter.report_alive()

    def open_sources(compiled: CompiledQuery, manifest: CheckpointManifest | None) -> OpenSources:
        return OpenSources.open(compiled, layout, manifest, options.live, report_progress)

    manifest = retry_while_away(partial(checkpoint.resumable, layout, query), lambda: options.live and layout.is_remote)
    check_answer_topic(query, is_new=manifest is None)
    sources: OpenSources | None = None
    if manifest is None:
        tables, compiled = open_tables(query, layout, manifest, options.live), CompiledQuery.declare(query)
        sources = open_sources(compiled, manifest)
        if not sources.have_types and not options.live:  # a stream without a record yet has unknown types
            return 0
        if sources.have_types:  # refuses unfit sources before anything is written
            compiled = compiled.bind(first_types(sources.feeds, tables))
            require_types(compiled)
            check_places(layout, query, compiled.kind)
    with only_driver(layout, waits=options.live and manifest is not None) as require_held, ExitStack() as stack:
        manifest = checkpoint.resumable(layout, query)  # another process may have changed or created it meanwhile
        activity = ActivityLog(Tables(layout)) if options.live else None
        reporter = StatusReporter(layout, options.grace_s, None if manifest is None else activity)
        stack.enter_context(reporter.until_stopped())
        if manifest is not None:
            query = query.fixed_by(manifest.structure)
            compiled = CompiledQuery.declare(query).bind(manifest.types)
            sources = reopen(partial(open_sources, compiled, manifest), options.live, reporter)
        if sources is None or not sources.await_first_records(reporter):  # drained before
            reporter.report("drained")
            return 0
        if manifest is None:
            compiled = compiled.bind(first_types(sources.feeds, tables))
        else:
            tables = open_tables(query, layout, manifest, options.live)
        require_types(compiled)  # settings may change meanwhile
        if manifest is None and (query := require_bins(query)) is not compiled.query:
            compiled = CompiledQuery.declare(query).bind(compiled.types)
        check_places(layout, query, compiled.kind)
        manifest = manifest or create_checkpoint(compiled, layout, sources.feeds)
        reporter.activity = activity  # of a new stream only now, as a refused one writes nothing
        pipeline = pipeline_of(compiled, layout, manifest)
        writer = EntryWriter(Journal(layout.journal), require_held)
        feedback = Feedback(pipeline.kind, pipeline.tasks, manifest.plans_from)
        task_number = TaskNumber.from_query(query, layout, manifest, options.live)
        planner = _planner(query, layout, writer, sources, tables, feedback, options, task_number)
        return _run_batches(query, layout, manifest, pipeline, planner, reporter, on_batch, open_executor)


def _planner(
    query: Query,
    layout: Layout,
    writer: EntryWriter,
    sources: OpenSources,
    tables: Sequence[TableVersions],
    feedback: Feedback,
    options: RunOptions,
    task_number: TaskNumber | None,
) -> BatchPlanner:
    """Create the planner of a stream's batches, which goes on where the journal ends."""
    return BatchPlanner(
        writer,
        sources.feeds,
        sources.segments,
        partial(Proposals(layout).settings_in_force, query.policy),
        query.tick_ms,
        query.idle_ms,
        {name for name, stream in query.streams.items() if stream.is_stamped},
        feedback,
        options,
        tables=tables,
        task_number=task_number,
    )


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
    """Run the planned batches, then plan and run further ones; return the number of batches run."""
    committed = committed_batches(layout)
    reporter.starting(committed)
    buffer_s = query.answers.buffer.total_seconds()
    deliveries = [Delivery(place, reporter, buffer_s=buffer_s) for place in places_of(layout, query, pipeline.kind)]
    is_done = planner.batches == committed and not planner.options.live  # all planned batches
    if is_done and planner.plan_batch(read_progress(Tables(layout))) is None:
        try:
            complete(deliveries)
        finally:
            reporter.report("ended" if planner.ended else "drained")
        return 0
    require_held = planner.writer.require_held
    tables = StreamTables.open(layout, pipeline, manifest.id)
    require_held()
    tables.create()
    require_held()  # it deletes unnamed files, which another driver may be about to name
    sweep(layout, planner.journal, tables.staged, committed)
    begin_topic(layout, query, pipeline.kind, manifest.id)
    topic = AnswerTopic.from_query(query, pipeline.kind.answers.row_identity, layout)
    sink = Sink(tables, topic, require_held)
    with noting_written(layout), open_executor(pipeline, TaskStates(layout.states)) as executor:
        in_between = deliveries if planner.options.live else ()
        StreamRun(layout, planner, reporter, sink, executor, committed, on_batch, in_between).run()
    try:
        if not planner.options.live:
            complete(deliveries)
    finally:
        ended = planner.ended and not planner.options.live
        reporter.report("ended" if ended else "drained", planner.rows_left)
    return planner.batches - committed
