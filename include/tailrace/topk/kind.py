"""The top-k kind: one frozen object for each declared top-k query."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.answers.by_window import ByWindow
from tailrace.disorder.clock import Frontier
from tailrace.kind.inputs import Input, NameTypes
from tailrace.kind.step import Step
from tailrace.partition.by_key import ByKey
from tailrace.topk.accuracy import errors
from tailrace.topk.best import Best
from tailrace.topk.methods import METHODS, Method
from tailrace.topk.partials import combine
from tailrace.windows.panes import Rows, evaluate_windows
from tailrace.windows.sliding import Sliding


@dataclass(frozen=True)
class TopK:
    """The k tuples with the best scores in the sliding windows of each key; of equal scores the smaller ids.

    Attributes
    ----------
    columns : dict
        From `score` to the source's column for it.
    key_type, id_type : DataType
        string or int64, as in the stream.
    """

    windows: Sliding
    k: int
    descending: bool
    columns: dict[str, str]
    key_type: pa.DataType
    id_type: pa.DataType
    method: str = "adaptive"

    @cached_property
    def best(self) -> Best:
        return Best(self.k, self.descending, self.id_type)

    @property
    def running(self) -> Method:
        """The implementation of the query's method."""
        return METHODS[self.method](self.windows, self.best, self.key_type)

    @property
    def answers(self) -> ByWindow:
        return ByWindow(self.windows, ("rank",))

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
        fields = [("rank", pa.int64()), ("id", self.id_type), ("score", pa.float64()), ("tuples", pa.int64())]
        return pa.schema([*self.answers.fields(self.key_type), *fields])

    def prepare(self, tuples: pa.RecordBatch, side: int = 0) -> pa.RecordBatch:
        return tuples.select(self.inputs[side].tuple_columns)

    def combine(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        return combine(self.windows, self.best, rows, across=not self.running.moves)

    def start(self) -> Any:
        return self.running.start()

    def restore(self, batches: dict[str, pa.RecordBatch]) -> Any:
        return self.running.restore(batches)

    def step(self, state: Any, arrived: tuple[pa.Table, ...], frontier: Frontier) -> Step:
        """Advance a state to the frontier (the watermark), and rank the windows that closed."""
        state, rows, late = self.running.step(state, arrived[0], frontier)
        return Step(state, self._answers(rows), frontier.closing(np.asarray(rows.column("time"))), (late,))

    def evaluate(self, *content: pa.RecordBatch) -> pa.RecordBatch:
        """The ranking of every window over the given tuples, independent of their order and lateness."""
        (tuples,) = content
        no_tick = pa.array(np.zeros(tuples.num_rows, np.int64))
        columns = ["event_time", "key", "id", *self.columns]
        partials = self.combine(tuples.select(columns).append_column("tick", no_tick))
        key, pane = (np.asarray(column) for column in (partials.column("key").indices, partials.column("pane")))
        values = {name: partials.column(name).to_numpy(zero_copy_only=False) for name in self.best.types}
        panes = Rows(key.astype(np.int64), pane, values)
        rows = evaluate_windows(self.windows, self.best, panes, Rows.empty(self.best.types), None, None)
        return self._answers(rows.with_keys(partials.column("key").dictionary))

    def errors(self, approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
        """The share of the correct top-k that each approximate answer lacks."""
        return errors(self.answers.identity, approximate, exact)

    def quality(self, approximate: pa.Table, exact: pa.Table) -> float:
        """The hit rate: the mean share of the correct top-k in the approximate answers, over the exact answers."""
        error = np.asarray(errors(self.answers.identity, approximate, exact).column("error"))
        return float(1 - error.mean()) if len(error) else 1.0

    def _answers(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        end = rows.column("time")
        start = pc.subtract(end, self.windows.size_ms)
        columns = [rows.column(name).cast(self.answer.field(name).type) for name in ("rank", "id", "score", "tuples")]
        return pa.RecordBatch.from_arrays([rows.column("key"), start, end, *columns], schema=self.answer)
