"""The kind itself: one frozen object for each declared aggregate query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.aggregate import operator
from tailrace.aggregate.functions import FUNCTIONS
from tailrace.aggregate.partials import combine
from tailrace.disorder.clock import Frontier
from tailrace.windows.sliding import Sliding


@dataclass(frozen=True)
class Aggregate:
    """sum, count or avg of a column over the sliding windows of each key.

    Attributes
    ----------
    columns : dict
        The columns of a tuple that the kind needs beyond its key and times, and the source's column for each.
    key_type : DataType
        string or int64, as the stream's key comes.
    """

    windows: Sliding
    function: str
    columns: dict[str, str]
    key_type: pa.DataType

    @property
    def answer(self) -> pa.Schema:
        times = [(name, pa.int64()) for name in ("window_start", "window_end")]
        return pa.schema([("key", self.key_type), *times, ("value", pa.float64()), ("tuples", pa.int64())])

    def combine(self, tuples: pa.RecordBatch) -> pa.RecordBatch:
        return combine(self.windows, tuples)

    def start(self) -> operator.State:
        return operator.State.empty(self.key_type)

    def restore(self, kept: dict[str, pa.RecordBatch]) -> operator.State:
        return operator.State.from_arrow(kept)

    def step(
        self, state: operator.State, partials: pa.Table, frontier: Frontier
    ) -> tuple[operator.State, pa.RecordBatch, pa.RecordBatch]:
        """Returns the new state, the answers of the windows that closed, and the late tuples (`operator.step`)."""
        state, closed, late = operator.step(self.windows, state, partials, frontier)
        return state, self._answers(closed), late

    def evaluate(self, content: pa.RecordBatch) -> pa.RecordBatch:
        """The answer of every window over the given tuples; late, or in which order, means nothing here."""
        no_tick = pa.array(np.zeros(content.num_rows, np.int64))
        partials = self.combine(content.select(["event_time", "key", *self.columns]).append_column("tick", no_tick))
        pane = np.asarray(partials.column("pane"))
        row, end = self.windows.ends(pane, None, None)
        code = np.asarray(partials.column("key").indices).astype(np.int64)
        tuples, total = (np.asarray(partials.column(name)) for name in ("tuples", "total"))
        sums = operator.Sums.add([operator.Sums(code[row], end, tuples[row], total[row])], self.windows.slide_ms)
        keys = partials.column("key").dictionary
        columns = [keys.take(pa.array(sums.key)), *map(pa.array, (sums.time, sums.tuples, sums.total))]
        return self._answers(pa.RecordBatch.from_arrays(columns, names=["key", "window_end", "tuples", "total"]))

    def quality(self, approximate: pa.Table, exact: pa.Table) -> float:
        """1 − the mean relative error over the exact answers; one that is missing counts as wrong altogether.

        Where the true value is 0 the error is the absolute one; no answer counts worse than a missing one.
        """
        if not exact.num_rows:
            return 1.0
        names = ["key", "window_start", "window_end"]
        near = approximate.select([*names, "value"]).to_pandas()
        both = exact.select([*names, "value"]).to_pandas().merge(near, how="left", on=names, suffixes=("", "_near"))
        true, got = both["value"].to_numpy(), both["value_near"].to_numpy()
        with np.errstate(over="ignore", invalid="ignore"):
            error = np.abs(got - true) / np.where(true == 0, 1.0, np.abs(true))
        error = np.where(got == true, 0.0, np.where(np.isnan(error), 1.0, error))
        return float(1 - np.minimum(error, 1.0).mean())

    def _answers(self, closed: pa.RecordBatch) -> pa.RecordBatch:
        end, tuples = closed.column("window_end"), np.asarray(closed.column("tuples"))
        value = FUNCTIONS[self.function](tuples.astype(float), np.asarray(closed.column("total")))
        columns = [closed.column("key"), pc.subtract(end, self.windows.size_ms), end, pa.array(value), pa.array(tuples)]
        return pa.RecordBatch.from_arrays(columns, schema=self.answer)
