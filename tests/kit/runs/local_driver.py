"""Drivers of a declared query in this process: the product's planner, loop, executor and sink, at a fixed time.

A driver that dies in between is followed by one that starts from the last commit and runs what the journal has beyond
it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest

from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.report import CorrectionReport
from tailrace.delivery.answer_topic import AnswerTopic
from tailrace.delivery.topic_answers import begin_topic
from tailrace.disorder.policy import SlackPolicy
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.engine.executor import Executor
from tailrace.engine.feedback import Feedback
from tailrace.engine.local_executor import LocalExecutor
from tailrace.engine.pipeline import Pipeline
from tailrace.engine.task_states import TaskStates
from tailrace.query.query import Query
from tailrace.storage import checkpoint
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.proposals import Proposals
from tailrace.storage.tables import Tables
from tailrace.stream.app import OpenExecutor
from tailrace.stream.batch_planner import BatchPlanner
from tailrace.stream.entry_writer import EntryWriter
from tailrace.stream.opening import OpenSources, create_checkpoint, first_types, open_tables, pipeline_of
from tailrace.stream.rebuild import rebuild
from tailrace.stream.run import StreamRun
from tailrace.stream.run_options import RunOptions
from tailrace.stream.sink import Sink
from tailrace.stream.status_reporter import StatusReporter
from tailrace.stream.steady_clock import SteadyClock
from tailrace.stream.stream_tables import StreamTables
from tailrace.stream.task_number import TaskNumber

NOW = 1_800_000_000_000
FILE = Path("readings.yaml")
EVERYTHING = CorrectionRange()


@dataclass
class Driver:
    """The drivers of one query, one after the other.

    Attributes
    ----------
    now : int
        The wall clock, ms.
    compact_every : int
        The number of batches from one compaction to the next.
    """

    query: Query
    warehouse: Path | str
    now: int = NOW
    compact_every: ClassVar[int] = 64

    @property
    def layout(self) -> Layout:
        return Layout.for_query(self.warehouse, self.query.name)

    @property
    def tables(self) -> Tables:
        return Tables(self.layout)

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline of a stream that has begun."""
        manifest = self.layout.manifest()
        return pipeline_of(CompiledQuery.declare(self.query.fixed_by(manifest.structure)), self.layout, manifest)

    def begin(self) -> None:
        """Create the checkpoint and the tables, and run nothing."""
        compiled = CompiledQuery.declare(self.query)
        sources = OpenSources.open(compiled, self.layout, None, is_live=False, on_progress=lambda: None)
        manifest = create_checkpoint(compiled.bind(sources.types), self.layout, sources.feeds)
        StreamTables.open(self.layout, self.pipeline, manifest.id).create()

    def run(self, batch_rows: int = 1_000_000, flush: bool = False, open_executor: OpenExecutor | None = None) -> int:
        """Start a driver that reads all there is; returns the number of batches that it has run.

        `open_executor`: by default `one_by_one`.
        """
        layout = self.layout
        with layout.lock("stream"):
            manifest = checkpoint.resumable(layout, self.query)
            options = RunOptions(batch_rows, live=False, flush=flush)
            tables_read = open_tables(self.query, layout, manifest, is_live=False)
            compiled = CompiledQuery.declare(self.query if not manifest else self.query.fixed_by(manifest.structure))
            sources = OpenSources.open(compiled, layout, manifest, is_live=False, on_progress=lambda: None)
            if not manifest and not sources.have_types:  # a query upstream has no answers yet
                return 0
            compiled = compiled.bind(first_types(sources.feeds, tables_read))
            manifest = manifest or create_checkpoint(compiled, layout, sources.feeds)
            pipeline = pipeline_of(compiled, layout, manifest)
            planner = BatchPlanner(
                EntryWriter(Journal(layout.journal)),
                sources.feeds,
                sources.segments,
                self.wanted,
                self.query.tick_ms,
                self.query.idle_ms,
                {name for name, stream in self.query.streams.items() if stream.is_stamped},
                Feedback(pipeline.kind, pipeline.tasks, manifest.plans_from),
                options,
                partial(SteadyClock, wall=lambda: self.now, steady_s=lambda: self.now / 1000),
                tables=tables_read,
                task_number=TaskNumber.from_query(self.query, layout, manifest, live=False),
            )
            tables = StreamTables.open(layout, pipeline, manifest.id)
            tables.create()
            begin_topic(layout, self.query, pipeline.kind, manifest.id)
            topic = AnswerTopic.from_query(self.query, pipeline.kind.answers.row_identity, layout)
            sink, done = Sink(tables, topic, compact_every=self.compact_every), checkpoint.committed_batches(layout)
            with (open_executor or one_by_one)(pipeline, TaskStates(layout.states)) as executor:
                StreamRun(layout, planner, StatusReporter(layout), sink, executor, done).run()
            return planner.batches - done

    def rebuild(self, query: Query) -> None:
        """Rebuild the stream for a query, which later drivers run."""
        rebuild(query, self.layout, FILE, None, one_by_one)
        self.query = query

    def wanted(self) -> tuple[SlackPolicy, str]:
        return Proposals(self.layout).settings_in_force(self.query.policy)


@contextmanager
def one_by_one(pipeline: Pipeline, states: TaskStates) -> Iterator[Executor]:
    """Open an executor whose tasks write their states one after the other, so that a death falls between the same."""
    yield LocalExecutor(pipeline, states, threads=1)


def no_spark(buckets: int) -> None:
    """The scan of a history that is too large for one process."""
    pytest.fail("so little needs no Spark")


def correct_here(query: Query, warehouse: Path | str, span: CorrectionRange = EVERYTHING) -> CorrectionReport:
    """Correct late tuples in this process."""
    return correct(query, warehouse, span, no_spark)
