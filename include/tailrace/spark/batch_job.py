"""The job of a batch in Spark's workers: each worker runs the clock once, and then some of the tasks."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.messages import Inbox, Message, table_messages
from tailrace.engine.moved_states import state_before
from tailrace.engine.pipeline import Pipeline
from tailrace.engine.query_clock import ClockBatch
from tailrace.engine.task_states import CLOCK, TaskStates


@dataclass(frozen=True)
class WorkerJob:
    """The job of a batch for its workers: a frozen value that is sent to each of them.

    Attributes
    ----------
    id : str
        The id of the job; a batch that is run again has a new one.
    before : int
        The number of the batch whose states it starts from; -1 for none.
    """

    id: str
    pipeline: Pipeline
    states: TaskStates
    before: int

    def advance(self, index: int, header: BatchHeader, inbox: Inbox) -> list[Message]:
        """Advance a task by the batch; the first group also writes the clock's state and rows.

        A worker runs the clock for the first of its groups. All workers compute the same.
        """
        clock, output = _CLOCKS.get(self.id), list(inbox.passing)
        if clock is None or index == 0:
            query_clock = self.pipeline.clock
            before = query_clock.restore(self.states.read(CLOCK, self.before))
            state, clock = query_clock.step(before, header, inbox.statistics())
            _CLOCKS.clear()
            _CLOCKS[self.id] = clock
            if index == 0:
                self.states.write(CLOCK, header.batch, state.pack())
                output += table_messages(clock.output)
        change = self.pipeline.tasks_in(header)
        if index < change.now:
            task = self.pipeline.task(index, change)
            before_batch = state_before(task, self.states, self.before, change, self.pipeline.task)
            batch = task.step(before_batch, header, clock, inbox.rows())
            self.states.write(index, header.batch, batch.state.pack(task.store))
            output += table_messages(batch.output)
        return output


_CLOCKS: dict[str, ClockBatch] = {}
"""The clock of the newest job for which this worker has run tasks."""
