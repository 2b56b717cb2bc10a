"""Common base of the kinds that answer the sliding windows of each key of one stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tailrace.answers.by_window import ByWindow
from tailrace.disorder.clock import Frontier
from tailrace.ground.arrow.key_lists import key_columns
from tailrace.kind.column_use import ColumnUse
from tailrace.kind.inputs import ColumnTypes, Input
from tailrace.kind.step import Step
from tailrace.partition.by_key import ByKey, task_of
from tailrace.partition.routes import TaskSlot, spread_again
from tailrace.windows.panes import KeyedRows, Summary, evaluate_windows
from tailrace.windows.windows import Windows


@dataclass(frozen=True)
class KeyedWindows(ABC):
    """Base of a kind that answers the sliding windows of each key, from a summary of their panes.

    Attributes
    ----------
    uses : tuple of ColumnUse
        The uses of the columns of a tuple that the kind needs beyond its key and times.
    key_type, id_type : DataType
        The types in the stream, see `ColumnTypes`.
    keys : dict
        The columns of answers with the parts of a composite key; empty for a key of one column.
    row_key : tuple of str
        The columns that tell the rows of an answer apart, see `ByWindow`.
    """

    windows: Windows
    uses: tuple[ColumnUse, ...]
    key_type: pa.DataType
    id_type: pa.DataType = pa.string()  # noqa: RUF009 (frozen)
    keys: Mapping[str, pa.DataType] = field(default_factory=dict)

    row_key: ClassVar[tuple[str, ...]] = ()
    row_weight: ClassVar[int] = 1

    @property
    @abstractmethod
    def summary(self) -> Summary:
        """The summary of a pane, from which windows are answered."""

    @property
    @abstractmethod
    def values(self) -> dict[str, pa.DataType]:
        """The columns of an answer between its identity and `tuples`."""

    @property
    def marks(self) -> dict[str, pa.DataType]:
        """The columns of an answer after `tuples`, which mark answers, and are no values."""
        return {}

    @abstractmethod
    def combine(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Combine rows into partials by key, pane and tick, see `Preaggregating`."""

    @property
    def answers(self) -> ByWindow:
        return ByWindow(self.windows, self.row_key)

    @property
    def inputs(self) -> tuple[Input, ...]:
        return (Input(self.uses, column_types=ColumnTypes(self.key_type, self.id_type)),)

    @property
    def partition(self) -> ByKey:
        return ByKey()

    @property
    def answer(self) -> pa.Schema:
        key, *times = self.answers.fields(self.key_type)
        return pa.schema([key, *self.keys.items(), *times, *self._content.items()])

    @property
    def _content(self) -> dict[str, pa.DataType]:
        return {**self.values, "tuples": pa.int64(), **self.marks}

    @property
    def late(self) -> pa.Schema:
        return self.answers.late(self.key_type)

    def prepare(self, tuples: pa.RecordBatch, side: int = 0) -> pa.RecordBatch:
        return tuples.select(self.inputs[side].tuple_columns)

    def evaluate(self, *content: pa.RecordBatch) -> pa.RecordBatch:
        """Return the answer of every window over the given tuples; their order and lateness do not matter."""
        (tuples,) = content
        no_tick = pa.array(np.zeros(tuples.num_rows, np.int64))
        columns = [name for name in tuples.schema.names if name != "tick"]
        partials = self.combine(tuples.select(columns).append_column("tick", no_tick))
        key, pane = (np.asarray(column) for column in (partials.column("key").indices, partials.column("pane")))
        values = {name: partials.column(name).to_numpy(zero_copy_only=False) for name in self.summary.types}
        panes = KeyedRows(key.astype(np.int64), pane, values)
        return self._answers(self._evaluate(panes).with_keys(partials.column("key").dictionary))

    def _evaluate(self, panes: KeyedRows) -> KeyedRows:
        """Answer all windows over the rows of panes."""
        return evaluate_windows(self.windows, self.summary, panes, KeyedRows.empty(self.summary.types), None, None)

    def moved(self, states: Sequence[Any], slot: TaskSlot) -> Any:
        """Return the keys of one task, see `Rescalable`."""
        return type(states[0]).of_keys(states, lambda keys: np.asarray(task_of(keys, slot.tasks) == slot.task))

    def moved_rows(self, side: int, rows: Sequence[pa.RecordBatch], slot: TaskSlot) -> pa.Table:
        """Return the rows of one task, see `Rescalable`."""
        return spread_again(self.partition, side, rows, slot)

    def _step(self, state: Any, closed: pa.RecordBatch, late: pa.RecordBatch, frontier: Frontier) -> Step:
        """Build the result of a step from the operator's new state, closed windows and late rows."""
        return Step(state, self._answers(closed), frontier.closing(np.asarray(closed.column("time"))), (late,))

    def _answers(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Convert closed windows (`key`, `time`, the summary's answers) to answers."""
        end = rows.column("time")
        start = self._starts(rows)
        columns = [self._value(rows, name, dtype) for name, dtype in self._content.items()]
        key = rows.column("key")
        keys = key_columns(key, dict(enumerate(self.keys.values()))) if self.keys else []
        return pa.RecordBatch.from_arrays([key, *keys, start, end, *columns], schema=self.answer)

    def _starts(self, rows: pa.RecordBatch) -> pa.Array:
        """Return the starts of closed windows."""
        return pa.array(self.windows.start(np.asarray(rows.column("time"))))

    def _value(self, rows: pa.RecordBatch, name: str, dtype: pa.DataType) -> pa.Array:
        """Return a column of answers from closed windows."""
        return rows.column(name).cast(dtype)
