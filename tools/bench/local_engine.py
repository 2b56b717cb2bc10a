"""A query in one process, batch by batch, over files or tables in memory; pipeline and tasks are the same as in Spark.

Tests, benchmarks and simulations share this runner. They cut a stream into segments and batches at will, and restart
the query between any two batches. No answer depends on the cuts, with one exception: an idle stream wakes with the
batch that has its tuples.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.disorder.clock import Frontier
from tailrace.disorder.policy import SlackPolicy
from tailrace.disorder.ticks import Ticks
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.engine.executor import rows_by_table
from tailrace.engine.feedback import FEEDBACK, Feedback
from tailrace.engine.lookup_types import named_types
from tailrace.engine.messages import Inbox, Message, messages_of, unpacked_tables
from tailrace.engine.next_facts import DECLARED, next_facts, with_plan, with_table
from tailrace.engine.pipeline import Pipeline, PreparedSegment
from tailrace.engine.progress import Progress
from tailrace.engine.query_clock import ClockState, QueryClock
from tailrace.engine.task import TaskBatch, TaskState
from tailrace.ground.facts import Facts
from tailrace.query.query import Query
from tailrace.sources.columns import SourceMapping
from tailrace.sources.lookup.dimension_sources import read_whole
from tailrace.sources.segments import RawSegment, Segment, Types


@dataclass(frozen=True)
class MemoryFormat:
    """A format whose files are tables in memory, by their names."""

    tables: Mapping[str, pa.Table]

    suffixes = ("",)

    def whole(self, path: Path, still: bool) -> bool:
        return True

    def types(self, path: Path, columns: SourceMapping) -> Types:
        schema = self.tables[str(path)].schema
        return {name: str(schema.field(name).type) for name in columns.named().values()}

    def split(self, path: Path) -> list[Segment]:
        rows = self.tables[str(path)].num_rows
        return [Segment(str(path), 0, rows, of_rows=rows)] if rows else []

    def read(self, segment: Segment, types: Types) -> RawSegment:
        return RawSegment(self._rows(segment), np.arange(segment.rows), [])

    def records(self, segment: Segment, rows: Sequence[int]) -> list[str]:
        return [str(self._rows(segment).slice(row, 1).to_pylist()[0]) for row in rows]

    def segments(self, stream: str, cuts: Iterable[int] = ()) -> list[Segment]:
        """Return the log of a stream that consists of these tables in order, also cut at these positions."""
        log: list[Segment] = []
        start, positions = 0, sorted(set(cuts))
        for name, table in self.tables.items():
            end = start + table.num_rows
            bounds = [start, *(position for position in positions if start < position < end), end]
            for first, last in pairwise(bounds if table.num_rows else []):
                segment = Segment(name, first - start, last - first, len(log), first, of_rows=table.num_rows)
                log.append(replace(segment, stream=stream))
            start = end
        return log

    def _rows(self, segment: Segment) -> pa.Table:
        return self.tables[segment.path].slice(segment.first_row, segment.rows)


def pipeline_in_memory(query: Query, streams: Mapping[str, MemoryFormat]) -> Pipeline:
    """Build the pipeline of a declared query over tables in memory instead of its declared files."""
    compiled = CompiledQuery.declare(query)
    types = {
        name: streams[name].types(Path(next(iter(streams[name].tables))), columns)
        for name, columns in compiled.sources.items()
    }
    for subject, table in query.tables.items():
        types[subject] = named_types(table.check(read_whole(table.place)).types)
    pipeline = compiled.bind(types).pipeline()
    readers = tuple(replace(reader, format=streams[reader.name]) for reader in pipeline.readers)
    return replace(pipeline, readers=readers)


class LocalEngine:
    """Runs the batches of a query, one after the other.

    Messages to tasks, and states, are serialized as in Spark, unless the engine runs without restarts.

    Attributes
    ----------
    clock_state : ClockState
    states : list of TaskState
        The state of each task.
    frontier : Frontier
        The frontier (the watermark) over the ticks of the newest batch; absent before the first.
    newest : list of TaskBatch
        The result of the newest batch at each task; empty before the first.
    facts : tuple of Fact
        The facts of the newest batch.
    progress : Progress or None
        The progress of the stream; None before the first batch.
    """

    def __init__(self, pipeline: Pipeline, restarts: bool = True) -> None:
        """Start a query; with `restarts`, clock and tasks are serialized and restored after each batch."""
        self.pipeline = pipeline
        self.restarts = restarts
        self.clock: QueryClock = pipeline.clock
        self.clock_state: ClockState = self.clock.restore(None)
        self.frontier: Frontier
        self.tasks = [pipeline.task(index) for index in range(pipeline.tasks)]
        self.states: list[TaskState] = [task.restore(None) for task in self.tasks]
        self.newest: list[TaskBatch] = []
        self.progress: Progress | None = None
        self.feedback = Feedback(pipeline.kind, pipeline.tasks)
        self._batches = 0
        self._segments = 0
        self.facts: Facts = ()

    def batch(
        self,
        policy: SlackPolicy,
        segments: Sequence[Segment] = (),
        plan: Mapping[str, Any] | None = None,
        complete: bool = False,
        table: str | None = None,
        **silence: Any,
    ) -> dict[str, pa.Table]:
        """Plan a batch under a policy, like the driver, and run it; return its rows by table.

        Parameters
        ----------
        plan : mapping, optional
            A new partition plan; by default the one that follows from the tasks' load, as in the driver.
        complete : bool
            Whether heartbeats follow that complete the ticks of the segments; the segments must end where ticks end.
        table : str, optional
            The file of a new version of the dimension table, in the directory of versions.
        silence
            The other attributes of `BatchHeader`, about the silence after the segments.
        """
        facts = self.next_facts(policy)
        plan, evidence = (self.feedback.take(facts), FEEDBACK) if plan is None else (plan, DECLARED)
        if plan is not None:
            facts = with_plan(facts, plan, evidence, self.progress, self._segments, self._batches)
        if table is not None:
            facts = with_table(facts, {"file": table}, DECLARED, self._segments, self._batches)
        header = BatchHeader(self._batches, facts, **silence)
        prepared = self.prepare(header, segments)
        if complete:
            last_end = _last_end(prepared)
            heartbeats = {} if last_end is None else dict.fromkeys(self.pipeline.streams, last_end)
            header = replace(header, heartbeats=heartbeats)
        rows = self.deliver(header, prepared)
        self._segments += len(segments)
        self._batches, self.facts = self._batches + 1, facts
        return rows

    def next_facts(self, policy: SlackPolicy) -> Facts:
        """Return the facts of the next batch under a policy, without a new partition plan."""
        return next_facts(self.facts, policy, DECLARED, self.progress, self.pipeline.kind, self._batches)

    def run(self, header: BatchHeader, segments: Sequence[Segment] = ()) -> dict[str, pa.Table]:
        """Run a batch; return its rows by table."""
        return self.deliver(header, self.prepare(header, segments))

    def prepare(self, header: BatchHeader, segments: Sequence[Segment]) -> list[PreparedSegment]:
        """Prepare the segments of a batch."""
        return [self.pipeline.prepare(segment, header) for segment in segments]

    def deliver(self, header: BatchHeader, segments: Sequence[PreparedSegment]) -> dict[str, pa.Table]:
        """Run a batch over prepared segments."""
        statistics = [(segment.record, segment.statistics) for segment in segments]
        rows = [[segment.rows_of(task.index) for segment in segments] for task in self.tasks]
        parts = [part for segment in segments for part in segment.tables.items()]
        if self.restarts:
            inboxes = _through_bytes(segments, max(len(self.tasks), 1))
            statistics, rows = inboxes[0].statistics(), [inbox.rows() for inbox in inboxes]
            parts = [part for inbox in inboxes for part in unpacked_tables(inbox.passing)]
        self.clock_state, clock = self.clock.step(self.clock_state, header, statistics)
        self.frontier, self.newest = clock.frontier, []
        for task in self.tasks:
            self.newest.append(task.step(self.states[task.index], header, clock, rows[task.index]))
            self.states[task.index] = self.newest[-1].state
        if self.restarts:
            self.clock_state = self.clock.restore(self.clock_state.pack())
            self.states = [
                task.restore(state.pack(task.store)) for task, state in zip(self.tasks, self.states, strict=True)
            ]
        parts += [
            part for output in (*(batch.output for batch in self.newest), clock.output) for part in output.items()
        ]
        tables = rows_by_table(parts)
        metrics = tables["metrics"].to_pylist()
        self.progress = Progress.from_metrics(metrics)
        self.feedback.observe(metrics, header.facts)
        return tables


def _through_bytes(segments: Sequence[PreparedSegment], groups: int) -> list[Inbox]:
    """Send segments as bytes to the groups of a job; return each group's inbox."""
    messages: list[list[Message]] = [[] for _ in range(groups)]
    for segment in segments:
        for group, message in messages_of(segment, groups):
            messages[group].append(message)
    return list(map(Inbox.from_messages, messages))


def _last_end(segments: Sequence[PreparedSegment]) -> int | None:
    """Return the end of the last tick of all streams in ms; None without a tick."""
    ends = (Ticks.from_arrow(segment.statistics["ticks"]).end for segment in segments)
    return max((int(end[-1]) for end in ends if len(end)), default=None)
