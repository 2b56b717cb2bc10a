"""The stateful side of a query: one task, one batch at a time, in process or in a group of a Spark job.

The query's clock determines the complete ticks (`QueryClock`). The task steps its own rows of these, and stores the
rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from tailrace.engine import output_tables
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.chunk_stores import ChunkStore, delete_unnamed, store_new
from tailrace.engine.query_clock import ClockBatch
from tailrace.engine.repeats import with_positions, without
from tailrace.engine.row_buffer import RowBuffer
from tailrace.ground.arrow import wire
from tailrace.ground.arrow.columns import single_batch
from tailrace.ground.arrow.wire import Batches
from tailrace.kind.capabilities import combined, for_task
from tailrace.kind.protocol import WindowedKind
from tailrace.kind.step import Step
from tailrace.operators.chunk import chunks_of
from tailrace.partition.routes import TaskSlot


class SegmentRows(NamedTuple):
    """The rows of a segment for one task, prepared by the kind; `side` is the stream's, `ordinal` the segment's."""

    ordinal: int
    side: int
    rows: pa.RecordBatch


@dataclass(frozen=True)
class TaskState:
    """The state of a task after a batch: the kind's state, and each stream's rows of incomplete ticks."""

    batch: int
    state: Any
    pending: tuple[RowBuffer, ...]

    def pack(self, store: ChunkStore) -> bytes:
        """Serialize the state, and store its new chunks; `Task.restore` is the inverse."""
        chunks = store_new(store, chunks_of(self.state), self.batch)
        names = {part: [chunk.name for chunk in mine] for part, mine in chunks.items()}
        batches = {f"state.{name}": batch for name, batch in self.state.to_arrow().items()}
        batches |= {f"pending.{side}": rows.to_arrow() for side, rows in enumerate(self.pending)}
        return wire.pack(batches, batch=self.batch, chunks=names)


class TaskBatch(NamedTuple):
    """Result of a batch at a task: its next state, its rows by table, and the kind's step."""

    state: TaskState
    output: Batches
    step: Step


@dataclass(frozen=True)
class Task:
    """One of the tasks of a query.

    Attributes
    ----------
    store : ChunkStore
        The store of the chunks of its state.
    tasks : int
        The number of all tasks.
    plans_from : int
        The first batch whose partition plans count; earlier plans are for another number of tasks.
    """

    kind: WindowedKind
    streams: tuple[str, ...]
    index: int
    store: ChunkStore
    tasks: int = 1
    deduplicates: bool = False
    plans_from: int = 0

    def step(self, before: TaskState, header: BatchHeader, clock: ClockBatch, rows: Sequence[SegmentRows]) -> TaskBatch:
        """Advance a state by a batch, whose rows may be in any order of segments."""
        frontier = clock.frontier
        rows = sorted(rows, key=lambda segment: segment.ordinal)
        complete, pending = [], []
        for side, (buffer, cut) in enumerate(zip(before.pending, clock.cuts, strict=True)):
            came = ((segment.rows, clock.least_tick[segment.ordinal]) for segment in rows if segment.side == side)
            first, rest = buffer.append(came).split(cut)
            complete.append(first)
            pending.append(rest)
        repeated = 0
        if clock.repeats is not None:
            distinct = [self._without(*each) for each in zip(complete, clock.repeats, strict=True)]
            repeated = sum(map(output_tables.total, complete)) - sum(map(output_tables.total, distinct))
            complete = distinct
        kind = for_task(self.kind, TaskSlot(self.index, self.tasks, header.plans(self.plans_from)))
        step = kind.step(before.state, tuple(complete), frontier)
        measured = output_tables.task_counts(
            self.kind.answers, [segment.rows for segment in rows], clock.accepted, step, frontier
        )
        filtered = 0 if self.index else clock.filtered  # counted once: the first task reports it for all
        measured |= {"repeats": repeated, "filtered": filtered, **clock.columns}
        output: Batches = {"metrics": output_tables.metrics(header, self.index, measured)}
        if step.answers.num_rows:
            output["results"] = output_tables.results(step, frontier)
        if any(part.num_rows for part in step.late):
            output["late"] = output_tables.late(step.late, self.kind.late, frontier, self.streams)
        return TaskBatch(TaskState(header.batch, step.state, tuple(pending)), output, step)

    def _without(self, rows: pa.Table, repeats: Any) -> pa.Table:
        """Return combined rows without repeats."""
        return pa.Table.from_batches([combined(self.kind, single_batch(without(rows, repeats)))])

    def restore(self, state: bytes | None) -> TaskState:
        """Restore a state from its bytes, and delete the chunks that it no longer needs.

        None stands for the initial state.
        """
        if state is None:
            buffers = []
            for side, each in enumerate(self.kind.inputs):
                rows = self.kind.prepare(each.no_tuples, side)
                rows = with_positions(rows, each.no_tuples) if self.deduplicates else combined(self.kind, rows)
                buffers.append(RowBuffer.from_arrow(rows))
            return TaskState(-1, self.kind.start(), tuple(buffers))
        batches, values = wire.unpack(state)
        names = values["chunks"]
        named = dict.fromkeys(name for mine in names.values() for name in mine)
        if names:  # the state has chunks; listing them costs a request in an object store
            with suppress(OSError):  # the next batch deletes them; this one does not depend on it
                delete_unnamed(self.store, named, values["batch"])
        stored = self.store.read(named)
        chunks = {part: tuple(stored[name] for name in mine) for part, mine in names.items()}
        pending = wire.under("pending.", batches)
        return TaskState(
            values["batch"],
            self.kind.restore(wire.under("state.", batches), chunks),
            tuple(RowBuffer.from_arrow(pending[str(side)]) for side in range(len(pending))),
        )
