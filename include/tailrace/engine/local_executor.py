"""The executor in this process: the pipeline and the tasks in threads, without a JVM."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain

import pyarrow as pa

from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.executor import rows_by_table
from tailrace.engine.stage import Message, Stage
from tailrace.engine.task import Message as TaskMessage
from tailrace.engine.task_states import TaskStates
from tailrace.sources.segments import Segment

_MOST_HELD = 64 << 20  # bytes of a task's packed state


@dataclass
class LocalExecutor:
    """Runs batches in this process.

    Attributes
    ----------
    held : dict
        The newest state of each task and its batch, so that the next batch need not read the file; large ones are read.
    """

    stage: Stage
    states: TaskStates
    threads: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    held: dict[int, tuple[int, bytes]] = field(default_factory=dict)

    def run(self, header: BatchHeader, segments: Sequence[Segment], before: int) -> dict[str, pa.Table]:
        """Run a batch, see `Executor.run`."""
        with ThreadPoolExecutor(self.threads, "batch") as pool:
            messages = list(chain.from_iterable(pool.map(lambda one: self.stage.messages(one, header), segments)))
            outputs = pool.map(lambda task: self._advance(task, header, messages, before), range(self.stage.tasks))
            parts = list(chain.from_iterable(outputs))
        return rows_by_table(parts)

    def cancel(self) -> None:
        """Leave the batch to end by itself: it writes no table."""

    def _advance(self, index: int, header: BatchHeader, messages: Sequence[Message], before: int) -> list[TaskMessage]:
        """Advance a task by a batch, and write its state; returns its rows for the tables."""
        mine = [(what, data) for task, what, data in messages if task == index]
        held_batch, held = self.held.pop(index, (None, b""))
        state = held if held_batch == before else self.states.read(index, before)
        state, output = self.stage.task(index).advance(state, [("entry", header.pack()), *mine])
        self.states.write(index, header.batch, state)
        if len(state) <= _MOST_HELD:
            self.held[index] = header.batch, state
        return output
