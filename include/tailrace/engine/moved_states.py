"""Restores the state of a task, also from the states of another number of tasks: each row moves to its task."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tailrace.engine.row_buffer import RowBuffer
from tailrace.engine.task import Task, TaskState
from tailrace.engine.task_change import TaskChange
from tailrace.engine.task_states import TaskStates
from tailrace.kind.capabilities import Rescalable
from tailrace.partition.routes import TaskSlot


def state_before(
    task: Task, states: TaskStates, before: int, change: TaskChange, task_of: Callable[[int], Task]
) -> TaskState:
    """Restore the state with which a task starts a batch.

    Where the number of tasks changes, it consists of the task's rows in the states of all tasks before. These stay as
    they are until the batch is committed, so a batch that is run again finds the same.

    Parameters
    ----------
    before : int
        The number of the previous batch; -1 for none.
    task_of : callable
        Returns a task before the change, by its number.

    Raises
    ------
    LostChunk
        When a state is missing or damaged.
    """
    if not change.moves or before < 0:
        return task.restore(states.read(task.index, before))
    return moved(task, [task_of(owner).restore(states.read(owner, before)) for owner in range(change.before)])


def moved(task: Task, states: Sequence[TaskState]) -> TaskState:
    """Return the part of all tasks' states that belongs to one task of another number of them."""
    kind, slot = task.kind, TaskSlot(task.index, task.tasks)
    assert isinstance(kind, Rescalable), "every kind with tasks moves its state"
    pending = [
        RowBuffer(kind.moved_rows(side, [each.pending[side].to_arrow() for each in states], slot))
        for side in range(len(kind.inputs))
    ]
    return TaskState(states[0].batch, kind.moved([each.state for each in states], slot), tuple(pending))
