"""The executor in this process: pipeline and tasks run in threads, without a JVM."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import pyarrow as pa

from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.executor import rows_by_table
from tailrace.engine.moved_states import state_before
from tailrace.engine.pipeline import Pipeline, PreparedSegment
from tailrace.engine.query_clock import ClockBatch
from tailrace.engine.task_change import TaskChange
from tailrace.engine.task_states import CLOCK, StateOwner, TaskStates
from tailrace.ground.arrow.wire import Batches
from tailrace.operators.chunk import chunks_of
from tailrace.sources.segments import Segment

MOST_HELD = 64 << 20  # bytes of a packed state


@dataclass
class LocalExecutor:
    """Runs batches in this process.

    Attributes
    ----------
    held : dict
        The newest state of the clock and of each task, with its batch, so that the next batch need not read the file.
        Large states, and states with chunks (mapped from files), are read.
    """

    pipeline: Pipeline
    states: TaskStates
    threads: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    held: dict[StateOwner, tuple[int, Any]] = field(default_factory=dict)

    def run(self, header: BatchHeader, segments: Sequence[Segment], before: int) -> dict[str, pa.Table]:
        """Run a batch, see `Executor.run`."""
        change = self.pipeline.tasks_in(header)
        if change.moves:  # drops the states of tasks that have ended
            self.held = {owner: held for owner, held in self.held.items() if owner == CLOCK}
        with ThreadPoolExecutor(self.threads, "batch") as pool:
            prepared = list(pool.map(lambda segment: self.pipeline.prepare(segment, header), segments))
            clock, written = self._advance_clock(header, prepared, before, pool)
            tasks = range(change.now)
            outputs = list(
                pool.map(lambda task: self._advance_task(task, change, header, clock, prepared, before), tasks)
            )
            written.result()
        batches = chain((segment.tables for segment in prepared), outputs, [clock.output])
        return rows_by_table(chain.from_iterable(each.items() for each in batches))

    def cancel(self) -> None:
        """Let the batch end by itself; it writes no table."""

    def _advance_clock(
        self, header: BatchHeader, segments: Sequence[PreparedSegment], before: int, pool: ThreadPoolExecutor
    ) -> tuple[ClockBatch, Future[None]]:
        """Advance the clock by a batch, and start writing its state, which the tasks need not wait for."""
        clock, state = self.pipeline.clock, self._take(CLOCK, before)
        if state is None:
            state = clock.restore(self.states.read(CLOCK, before))
        statistics = [(segment.record, segment.statistics) for segment in segments]
        state, batch = clock.step(state, header, statistics)
        return batch, pool.submit(lambda: self._keep(CLOCK, header.batch, state, state.pack()))

    def _advance_task(
        self,
        index: int,
        change: TaskChange,
        header: BatchHeader,
        clock: ClockBatch,
        segments: Sequence[PreparedSegment],
        before: int,
    ) -> Batches:
        """Advance a task by a batch, and write its state; return its rows for the tables."""
        task, state = self.pipeline.task(index, change), self._take(index, before)
        if state is None:
            state = state_before(task, self.states, before, change, self.pipeline.task)
        batch = task.step(state, header, clock, [segment.rows_of(index) for segment in segments])
        self._keep(index, header.batch, batch.state, batch.state.pack(task.store))
        return batch.output

    def _take(self, owner: StateOwner, batch: int) -> Any:
        """Remove and return the state after a batch, if it is held.

        A step may consume the state, and a failed batch is run again.
        """
        held_batch, state = self.held.pop(owner, (None, None))
        return state if held_batch == batch else None

    def _keep(self, owner: StateOwner, batch: int, state: Any, packed: bytes) -> None:
        """Write the state after a batch, and hold it if that is worthwhile."""
        self.states.write(owner, batch, packed)
        if len(packed) <= MOST_HELD and not chunks_of(getattr(state, "state", None)):
            self.held[owner] = batch, state
