"""The job of a batch in Spark's workers: each runs the clock once, and then some of the tasks."""

from __future__ import annotations

from dataclasses import dataclass

from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.messages import Inbox, Message, table_messages
from tailrace.engine.pipeline import Pipeline
from tailrace.engine.query_clock import ClockBatch
from tailrace.engine.task_states import CLOCK, TaskStates


@dataclass(frozen=True)
class BatchJob:
    """The job of a batch, as its workers run it: a frozen value that is sent to each of them.

    Attributes
    ----------
    id : str
        Identifies the job: a batch that is run again is another one.
    before : int
        The number of the batch whose states it starts from; -1 for none.
    """

    id: str
    pipeline: Pipeline
    states: TaskStates
    before: int

    def advance(self, index: int, header: BatchHeader, inbox: Inbox) -> list[Message]:
        """Advance a task by the batch; the first group writes the state and the rows of the clock, too.

        A worker runs the clock for the first of its groups. Each comes to the same.
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
        if index < self.pipeline.tasks:
            task = self.pipeline.task(index)
            task_state, tables = task.advance(self.states.read(index, self.before), header, clock, inbox.rows())
            self.states.write(index, header.batch, task_state)
            output += table_messages(tables)
        return output


_CLOCKS: dict[str, ClockBatch] = {}
"""The clock of the newest job that this worker has run tasks of."""
