"""Routes of tuples to tasks, and the protocol of partitionings, which compute them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.ground.facts import Facts

LEFT, RIGHT = 0, 1
"""The inputs of a join; the right one may be a dimension table."""


class Routes(NamedTuple):
    """The tasks of rows: m pairs of a row and a task.

    Attributes
    ----------
    row, task : ndarray, shape (m,)
        The index of the row, and the number of the task.
    home : ndarray of bool, shape (m,)
        True at one task of each row, its home, in which it counts. Other tasks get a replica.
    plan : int
        The version of the newest plan; 0 before the first. It is written into the column `plan` of rows that have one.
    """

    row: NDArray[np.int64]
    task: NDArray[np.int64]
    home: NDArray[np.bool_]
    plan: int = 0

    def rows_of(self, rows: pa.RecordBatch, task: int) -> pa.RecordBatch:
        """Select the rows of a task; in the column `tuples` a replica counts as 0."""
        mine = self.task == task
        row, home = self.row[mine], self.home[mine]
        is_all = len(row) == rows.num_rows and bool((row[1:] > row[:-1]).all())
        part = rows if is_all else rows.take(pa.array(row))
        if not home.all():
            index = part.schema.get_field_index("tuples")
            part = part.set_column(index, "tuples", pc.if_else(pa.array(home), part.column(index), 0))
        if "plan" in part.schema.names:
            index = part.schema.get_field_index("plan")
            part = part.set_column(index, "plan", pa.repeat(pa.scalar(self.plan, pa.int64()), part.num_rows))
        return _with_own_dictionaries(part)


class TaskSlot(NamedTuple):
    """A task of a query in a batch.

    Attributes
    ----------
    task, tasks : int
        Its number, and the number of tasks.
    plans : tuple of Fact
        The plans, as in `Partition.assign`.
    """

    task: int
    tasks: int
    plans: Facts = ()


class Partition(Protocol):
    """Protocol of a partitioning, which spreads a kind's rows over tasks. No answer depends on it."""

    @property
    def needs_earlier_plans(self) -> bool:
        """Whether every plan that placed a living tuple places a row as well; otherwise only the newest plan does."""

    def assign(self, side: int, rows: pa.RecordBatch, plans: Facts, tasks: int) -> Routes:
        """Route rows of one of a kind's inputs.

        Parameters
        ----------
        side : int
            The index of the input.
        rows : RecordBatch
            Prepared rows of the kind, combined if the kind combines rows; a distributed correction does not combine
            them.
        plans : tuple of Fact
            The partition plans under which a living tuple can have been placed, the one in force last.
        """


def spread_again(partition: Partition, side: int, rows: Sequence[pa.RecordBatch], slot: TaskSlot) -> pa.Table:
    """Return the rows of a task, without a plan, from the rows of previous tasks."""
    mine = [partition.assign(side, part, (), slot.tasks).rows_of(part, slot.task) for part in rows]
    return pa.Table.from_batches(mine)


def _with_own_dictionaries(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Drop the dictionary values that no row has."""
    for index, field in enumerate(rows.schema):
        if pa.types.is_dictionary(field.type):
            column = rows.column(index)
            code, values = np.asarray(column.indices), column.dictionary
            used = np.zeros(len(values), bool)
            used[code] = True
            if not used.all():
                own = pa.array((np.cumsum(used) - 1)[code].astype(np.int32))
                column = pa.DictionaryArray.from_arrays(own, values.filter(pa.array(used)))
                rows = rows.set_column(index, field.name, column)
    return rows
