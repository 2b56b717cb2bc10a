"""The aggregate kind: one frozen object for each declared aggregate query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from tailrace.aggregate.accuracy import errors
from tailrace.aggregate.amend import amend
from tailrace.aggregate.error_model import AggregateErrorModel
from tailrace.aggregate.folds import Fold
from tailrace.aggregate.functions import Function, function_of
from tailrace.aggregate.partials import combine
from tailrace.aggregate.sample import sample
from tailrace.disorder.clock import Frontier
from tailrace.ground.duration import format_duration
from tailrace.kind.explanation import Explanation
from tailrace.kind.keyed_windows import KeyedWindows
from tailrace.kind.step import Step
from tailrace.operators import window
from tailrace.operators.chunk import Chunks
from tailrace.operators.window import PaneState


@dataclass(frozen=True, kw_only=True)
class Aggregate(KeyedWindows):
    """An aggregate function over the sliding windows of each key.

    Attributes
    ----------
    q : float or None
        In (0, 1), with function quantile alone.
    """

    function: str
    q: float | None = None

    values: ClassVar[dict[str, pa.DataType]] = {"value": pa.float64()}

    @property
    def summary(self) -> Function:
        """The aggregate function, with the declared q bound to it."""
        return function_of(self.function, self.q)

    @property
    def fold(self) -> Fold:
        """The fold that merges the function's partials and defines their `total`."""
        return self.summary.fold

    @property
    def explanation(self) -> Explanation:
        windows = self.windows
        pane, share = format_duration(windows.pane_ms), windows.size_ms // windows.pane_ms
        method = f"{self.function} of panes of {pane}, {share} to a window"
        return Explanation("by the hash of the key", method, "tuples are combined before they go to the tasks")

    @property
    def error_model(self) -> AggregateErrorModel:
        return AggregateErrorModel(self.function, self.q)

    def combine(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return combine(self.windows, self.fold, rows)

    def sample(self, tuples: pa.RecordBatch) -> pa.RecordBatch:
        return sample(self.windows, self.fold, tuples)

    def start(self) -> PaneState:
        return PaneState.empty(self.key_type, self.summary.types)

    def restore(self, batches: dict[str, pa.RecordBatch], chunks: Chunks) -> PaneState:
        return PaneState.from_arrow(batches, self.summary.types)

    def step(self, state: PaneState, arrived: tuple[pa.Table, ...], frontier: Frontier) -> Step:
        """Advance a state to the frontier (the watermark), and answer the windows that closed."""
        return self._step(*window.step(self.windows, self.summary, state, arrived[0], frontier), frontier)

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
        return super()._answers(
            rows.rename_columns(["value" if name == "total" else name for name in rows.schema.names])
        )
