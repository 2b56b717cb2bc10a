"""The aggregate kind: one frozen object for each declared aggregate query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.aggregate.accuracy import errors
from tailrace.aggregate.amend import amend
from tailrace.aggregate.folds import Fold
from tailrace.aggregate.functions import Function, function_of
from tailrace.aggregate.partials import combine
from tailrace.aggregate.promised import AggregateErrorModel
from tailrace.aggregate.sample import sample
from tailrace.answers.by_window import ByWindow
from tailrace.disorder.clock import Frontier
from tailrace.kind.inputs import Input, NameTypes
from tailrace.kind.step import Step
from tailrace.operators import window
from tailrace.operators.window import PaneState
from tailrace.partition.by_key import ByKey
from tailrace.windows.panes import Rows, evaluate_windows
from tailrace.windows.sliding import Sliding


@dataclass(frozen=True)
class Aggregate:
    """An aggregate function over the sliding windows of each key.

    Attributes
    ----------
    columns : dict
        The columns of a tuple that the kind needs beyond its key and times, and the source's column for each.
    key_type, id_type : DataType
        string or int64, as in the stream.
    q : float or None
        In (0, 1), with function quantile alone.
    """

    windows: Sliding
    function: str
    columns: dict[str, str]
    key_type: pa.DataType
    q: float | None = None
    id_type: pa.DataType = pa.string()  # noqa: RUF009 (frozen)

    @property
    def summary(self) -> Function:
        """The aggregate function, with the declared q bound to it."""
        return function_of(self.function, self.q)

    @property
    def fold(self) -> Fold:
        """The fold that merges the function's partials and defines their `total`."""
        return self.summary.fold

    @property
    def answers(self) -> ByWindow:
        return ByWindow(self.windows)

    @property
    def inputs(self) -> tuple[Input, ...]:
        return (Input(self.columns, NameTypes(self.key_type, self.id_type)),)

    @property
    def partition(self) -> ByKey:
        return ByKey()

    @property
    def late(self) -> pa.Schema:
        return self.answers.late(self.key_type)

    @property
    def answer(self) -> pa.Schema:
        return pa.schema([*self.answers.fields(self.key_type), ("value", pa.float64()), ("tuples", pa.int64())])

    def prepare(self, tuples: pa.RecordBatch, side: int = 0) -> pa.RecordBatch:
        return tuples.select(self.inputs[side].tuple_columns)

    def combine(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return combine(self.windows, self.fold, rows)

    def sample(self, tuples: pa.RecordBatch) -> pa.RecordBatch:
        return sample(self.windows, self.fold, tuples)

    @property
    def error_model(self) -> AggregateErrorModel:
        return AggregateErrorModel(self.function, self.q)

    def start(self) -> PaneState:
        return PaneState.empty(self.key_type, self.summary.types)

    def restore(self, batches: dict[str, pa.RecordBatch]) -> PaneState:
        return PaneState.from_arrow(batches, self.summary.types)

    def step(self, state: PaneState, arrived: tuple[pa.Table, ...], frontier: Frontier) -> Step:
        """Advance a state to the frontier (the watermark) by `window.step`, and answer the windows that closed."""
        state, rows, late = window.step(self.windows, self.summary, state, arrived[0], frontier)
        return Step(state, self._answers(rows), frontier.closing(np.asarray(rows.column("time"))), (late,))

    def evaluate(self, *content: pa.RecordBatch) -> pa.RecordBatch:
        """The answer of every window over the given tuples, independent of their order and lateness."""
        (tuples,) = content
        no_tick = pa.array(np.zeros(tuples.num_rows, np.int64))
        partials = self.combine(tuples.select(["event_time", "key", *self.columns]).append_column("tick", no_tick))
        key = np.asarray(partials.column("key").indices).astype(np.int64)
        columns = {name: np.asarray(partials.column(name)) for name in self.summary.types}
        panes = Rows(key, np.asarray(partials.column("pane")), columns)
        rows = evaluate_windows(self.windows, self.summary, panes, Rows.empty(self.summary.types), None, None)
        return self._answers(rows.with_keys(partials.column("key").dictionary))

    def amend(self, answers: pa.Table, late: pa.Table) -> pa.RecordBatch:
        """Add late tuples to answers of sum, count and avg, as far as doubles reach; other functions give no rows."""
        rows = amend(self.windows, self.function, answers, late)
        return pa.RecordBatch.from_pylist([], self.answer) if rows is None else self._answers(rows)

    def errors(self, approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
        """Relative errors of the answers, absolute where the true value is 0."""
        return errors(self.answers.identity, approximate, exact)

    def quality(self, approximate: pa.Table, exact: pa.Table) -> float:
        """1 − the mean relative error over the exact answers; errors above 1, that of a missing answer, count as 1."""
        error = np.asarray(errors(self.answers.identity, approximate, exact).column("error"))
        return float(1 - np.minimum(error, 1.0).mean()) if len(error) else 1.0

    def _answers(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        key, end, tuples, value = rows.columns
        start = pc.subtract(end, self.windows.size_ms)
        return pa.RecordBatch.from_arrays([key, start, end, value, tuples], schema=self.answer)
