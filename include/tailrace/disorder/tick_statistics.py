"""Statistics of complete ticks over the whole query, the input of policies of slack (allowed lateness)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.disorder.arrival_curves import NO_CURVES, CoverageCurves
from tailrace.disorder.error_model import SAMPLE, ErrorModel, Ints
from tailrace.disorder.ticks import Ticks
from tailrace.windows.sliding import Sliding
from tailrace.windows.windows import Windows

COUNTS = pa.schema([(name, pa.int64()) for name in ("tick", "pane", "count")])
"""Schema of the tuple counts by tick and pane, over all keys."""


@dataclass(frozen=True)
class TickContents:
    """Contents of ticks, in any order, and the windows to which they belong.

    `counts` has the schema `COUNTS`; `sample` the error model's schema, or `SAMPLE` without an error model. `estimates`
    says whether early answers are scaled, so that the expected coverage is measured.
    """

    windows: Windows
    counts: pa.Table
    sample: pa.Table
    error_model: ErrorModel | None
    estimates: bool = False

    @staticmethod
    def empty() -> TickContents:
        return TickContents(Sliding(1, 1), COUNTS.empty_table(), SAMPLE.empty_table(), None)


@dataclass(frozen=True)
class TickRows:
    """Rows of `counts` or `sample` as columns of shape (m,), ordered by `at`, the index of the row's tick."""

    at: Ints
    columns: dict[str, NDArray[Any]]

    @staticmethod
    def from_table(table: pa.Table, ticks: Ticks) -> TickRows:
        at = np.searchsorted(ticks.tick, table.column("tick").to_numpy())
        order = np.argsort(at, kind="stable")
        names = [name for name in table.column_names if name != "tick"]
        return TickRows(at[order], {name: table.column(name).to_numpy()[order] for name in names})

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.columns[name]

    def between(self, first: int, end: int) -> TickRows:
        """Return the rows of the ticks with indices in [first, end), now counted from `first`."""
        low, high = np.searchsorted(self.at, [first, end])
        return TickRows(self.at[low:high] - first, {name: column[low:high] for name, column in self.columns.items()})


@dataclass(frozen=True)
class TickStatistics:
    """Statistics and contents of n complete ticks, in order.

    Attributes
    ----------
    t_max, largest : ndarray, shape (n,)
        The largest event time and the largest delay (ms) so far, each tick's own tuples included.
    before, frontier : int
        t_max and F (the frontier, the watermark) before the first of the ticks.
    counts : TickRows
        `pane` (ms), `count`: tuples of all keys.
    sample : TickRows
        `group`, `pane` (ms), `tuples`, and the kind's own columns (`ErrorModel.sample`): partials of some keys, if the
        policy needs them.
    curves : CoverageCurves
        The expected coverage by which early answers are scaled at each tick.
    """

    ticks: Ticks
    t_max: Ints
    largest: Ints
    before: int
    frontier: int
    windows: Windows
    counts: TickRows
    sample: TickRows
    error_model: ErrorModel | None
    curves: CoverageCurves = NO_CURVES

    def __len__(self) -> int:
        return len(self.ticks)

    def between(self, first: int, end: int, frontier: int) -> TickStatistics:
        """Return the statistics of the ticks with indices in [first, end); `frontier` is F before them."""
        part = slice(first, end)
        return replace(
            self,
            ticks=self.ticks[part],
            t_max=self.t_max[part],
            largest=self.largest[part],
            before=int(self.t_max[first - 1]) if first else self.before,
            frontier=frontier,
            counts=self.counts.between(first, end),
            sample=self.sample.between(first, end),
            curves=self.curves.from_tick(first),
        )
