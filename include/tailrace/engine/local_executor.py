"""The executor in this process: the pipeline and the tasks in threads, without a JVM."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from typing import TypeVar

import pyarrow as pa

from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.executor import rows_by_table
from tailrace.engine.query_clock import ClockBatch
from tailrace.engine.stage import PreparedSegment, Stage
from tailrace.engine.task_states import CLOCK, Slot, TaskStates
from tailrace.ground.wire import Batches
from tailrace.sources.segments import Segment

Result = TypeVar("Result")

_MOST_HELD = 64 << 20  # bytes of a packed state


@dataclass
class LocalExecutor:
    """Runs batches in this process.

    Attributes
    ----------
    held : dict
        The newest state of the clock and of each task, and its batch, so that the next batch need not read the file;
        large ones are read.
    """

    stage: Stage
    states: TaskStates
    threads: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    held: dict[Slot, tuple[int, bytes]] = field(default_factory=dict)

    def run(self, header: BatchHeader, segments: Sequence[Segment], before: int) -> dict[str, pa.Table]:
        """Run a batch, see `Executor.run`."""
        with ThreadPoolExecutor(self.threads, "batch") as pool:
            prepared = list(pool.map(lambda segment: self.stage.prepare(segment, header), segments))
            statistics = [(segment.record, segment.statistics) for segment in prepared]
            clock = self._advance(
                CLOCK, header, before, lambda state: self.stage.clock.advance(state, header, statistics)
            )
            outputs = list(
                pool.map(lambda task: self._run(task, header, clock, prepared, before), range(self.stage.tasks))
            )
        batches = chain((segment.tables for segment in prepared), outputs, [clock.output])
        return rows_by_table(chain.from_iterable(each.items() for each in batches))

    def cancel(self) -> None:
        """Leave the batch to end by itself: it writes no table."""

    def _run(
        self, task: int, header: BatchHeader, clock: ClockBatch, segments: Sequence[PreparedSegment], before: int
    ) -> Batches:
        """Advance a task by a batch; returns its rows for the tables."""
        rows = [segment.rows_of(task) for segment in segments]
        return self._advance(
            task, header, before, lambda state: self.stage.task(task).advance(state, header, clock, rows)
        )

    def _advance(
        self, slot: Slot, header: BatchHeader, before: int, advance: Callable[[bytes | None], tuple[bytes, Result]]
    ) -> Result:
        """Advance the state of the clock or a task by a batch, and write it; returns what else the batch gives."""
        held_batch, held = self.held.pop(slot, (None, b""))
        state, result = advance(held if held_batch == before else self.states.read(slot, before))
        self.states.write(slot, header.batch, state)
        if len(state) <= _MOST_HELD:
            self.held[slot] = header.batch, state
        return result
