"""The number of tasks of a batch, and of the batch before it: a fact of the batch's header."""

from __future__ import annotations

from typing import NamedTuple

from tailrace.engine.batch_header import BatchHeader
from tailrace.ground.facts import TASKS, Facts, newest


class TaskChange(NamedTuple):
    """The number of tasks in the states before a batch, and in the batch itself.

    `since` is the first batch with the number: earlier partition plans are for another one.
    """

    before: int
    now: int
    since: int

    @property
    def moves(self) -> bool:
        """Whether the state is spread over another number of tasks before the batch."""
        return self.before != self.now


def task_change(header: BatchHeader, first: int, since: int) -> TaskChange:
    """Return the numbers of tasks before and in a batch.

    Parameters
    ----------
    first : int
        The number with which the checkpoint was created or rebuilt; 0 for a query without tasks.
    since : int
        The first batch after that; earlier facts are for the checkpoint before it.
    """
    fact = newest(header.facts, TASKS)
    if fact is None or fact.batch < since or not first:
        return TaskChange(first, first, since)
    now, changed = fact.value["tasks"], fact.value["since"]
    return TaskChange(fact.value["before"] if fact.batch == header.batch else now, now, changed)


def change_after(facts: Facts, first: int, since: int) -> TaskChange:
    """Return the number of tasks after the batch with these facts, see `task_change`."""
    return task_change(BatchHeader(-1, facts), first, since)


def tasks_after(facts: Facts, first: int, since: int) -> int:
    """Return the number of tasks after the batch with these facts, see `task_change`."""
    return change_after(facts, first, since).now
