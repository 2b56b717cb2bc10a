"""The aggregate kind: one frozen object for each declared aggregate query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import pyarrow as pa

from tailrace.aggregate.accuracy import errors, share_right
from tailrace.aggregate.aggregates import NamedAggregate
from tailrace.aggregate.amend import amend
from tailrace.aggregate.error_model import AggregateErrorModel
from tailrace.aggregate.function import Function
from tailrace.aggregate.functions import function_of
from tailrace.aggregate.partials import combine
from tailrace.aggregate.sample import sample
from tailrace.aggregate.typed import Values
from tailrace.disorder.clock import Frontier
from tailrace.disorder.error_model import Promises
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
    function : str
        Its name in `aggregate.functions.FUNCTIONS`.
    parameters : dict
        Those that the function takes, as q.
    """

    function: str
    parameters: Mapping[str, float] = field(default_factory=dict)

    values: ClassVar[dict[str, pa.DataType]] = {"value": pa.float64()}

    @property
    def summary(self) -> Function:
        """The aggregate function, with the declared parameters bound to it."""
        return function_of(self.function, self.parameters)

    @property
    def explanation(self) -> Explanation:
        method = f"{self.function} of {self.windows.description}"
        return Explanation("by the hash of the key", method, "tuples are combined before they go to the tasks")

    @cached_property
    def error_model(self) -> AggregateErrorModel:
        values = None if self.function == "count" else Values("value", pa.float64(), self.id_type)
        return AggregateErrorModel((NamedAggregate("value", self.function, values, self.parameters),))

    def combine(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return combine(self.windows, self.summary, rows)

    def sample(self, tuples: pa.RecordBatch, promises: Promises) -> pa.RecordBatch:
        model = self.error_model
        tuples = tuples if promises else tuples[:0]
        return sample(self.windows, model.sampled(promises), model.sample, tuples)

    def start(self) -> PaneState:
        return PaneState.empty(self.key_type, self.summary.types)

    def restore(self, batches: dict[str, pa.RecordBatch], chunks: Chunks) -> PaneState:
        return PaneState.from_arrow(batches, self.summary.types)

    def step(self, state: PaneState, arrived: tuple[pa.Table, ...], frontier: Frontier) -> Step:
        """Advance a state to the frontier (the watermark), and answer the windows that closed."""
        return self._step(*window.step(self.windows, self.summary, state, arrived[0], frontier), frontier)

    def amend(self, answers: pa.Table, late: pa.Table) -> pa.RecordBatch:
        """Add late tuples to answers, as far as doubles reach; functions that can't be amended give no rows."""
        rows = amend(self.windows, self.summary, answers, late)
        return pa.RecordBatch.from_pylist([], self.answer) if rows is None else self._answers(rows)

    def errors(self, approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
        """Relative errors of the answers, absolute where the true value is 0."""
        return errors(self.answers.identity, approximate, exact)

    def quality(self, approximate: pa.Table, exact: pa.Table) -> float:
        """Return the share that is right of the exact answers, by relative errors, see `accuracy.share_right`."""
        return share_right(self.errors(approximate, exact).column("error"))
