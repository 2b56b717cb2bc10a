"""Uncorrected late tuples: tuples whose arrival no correction in the ledger covers. No Spark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from numpy.typing import NDArray

from tailrace.ground.ranges import Ints, Ranges, coarsen_ranges
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.ground.times import in_ms
from tailrace.storage.layout import Layout
from tailrace.storage.progress import committed_until
from tailrace.storage.table_schemas import LATE_TIMES
from tailrace.storage.tables import Tables, within_any

Interval = tuple[int, int]
"""(a, b] of `arrived`, the end of a tuple's tick, in ms: the tuples that arrived in [a, b), both multiples of
the tick.
"""

_MOST_RANGES = 16  # in one condition on a table; beyond that, the nearest ones are merged


@dataclass(frozen=True)
class Uncorrected:
    """The n rows of the table `late` that are committed and not corrected.

    Attributes
    ----------
    arrived : ndarray, shape (n,)
        As in the table, in ms.
    event_time : ndarray, shape (n,)
        The event time of each, or the start of its pane, as the table has it; in ms.
    covered : tuple of Interval
        The intervals of arrival whose late tuples are corrected (or, after `excluding`, requested).
    until : int
        The point of arrival up to which the stream has committed, in ms.
    """

    arrived: NDArray[np.int64]
    event_time: NDArray[np.int64]
    covered: tuple[Interval, ...]
    until: int

    @staticmethod
    def read(layout: Layout, opened: Tables | None = None) -> Uncorrected | None:
        """Read the uncorrected rows from the files that have any; None where the stream has committed nothing.

        `opened` are the query's tables that a reader has open.
        """
        until = committed_until(layout, opened)
        if until is None:
            return None
        tables = Tables(layout) if opened is None else opened
        known = corrected_intervals(tables)
        (time,) = set(LATE_TIMES) & set(tables.schema("late").names)
        gaps = uncovered(known, until)
        late = tables.read("late", ["arrived", time], near_gaps(gaps))
        arrived, event_time = (late[name].to_numpy() for name in ("arrived", time))
        is_uncorrected = gap_of(arrived, gaps) >= 0
        return Uncorrected(arrived[is_uncorrected], event_time[is_uncorrected], tuple(known), until)

    def __len__(self) -> int:
        return len(self.arrived)

    def within(self, interval: Interval) -> NDArray[np.bool_]:
        """Test which rows arrived in the interval, shape (n,)."""
        return np.asarray((self.arrived > interval[0]) & (self.arrived <= interval[1]))

    def excluding(self, intervals: Sequence[Interval]) -> Uncorrected:
        """Drop the rows that arrived in one of the intervals."""
        rest = ~reduce(or_, map(self.within, intervals), np.zeros(len(self), bool))
        return replace(
            self, arrived=self.arrived[rest], event_time=self.event_time[rest], covered=(*self.covered, *intervals)
        )

    def span_ms(self, pane_ms: int) -> int:
        """Return the span of their event times (paper 002, section 1.4: max − min), to the precision of panes.

        It reaches from the start of the earliest pane to the end of the latest one, so it exceeds max − min by at most
        two panes. 0 where there are no rows. Event times of pairs are panes of 1 ms.
        """
        return int(self.event_time.max() - self.event_time.min()) + pane_ms if len(self) else 0

    def interval(self, tick_ms: int) -> Interval:
        """Return the interval of arrival [a, b), in multiples of the tick, that contains all rows; there must be some.

        It begins where the covered intervals end, and reaches up to the committed arrival time. So the ledger has no
        gaps, and few rows of `late` are read.
        """
        first, tick = int(self.arrived.min()), max(tick_ms, 1)
        low = next(low for low, high in uncovered(self.covered, self.until) if low < first <= high)
        return (first - 1 if low == BEFORE_ALL else low) // tick * tick, self.until // tick * tick


def corrected_intervals(tables: Tables) -> list[Interval]:
    """Return the intervals of arrival whose late tuples are corrected according to the ledger.

    Corrections over event time are included.
    """
    if not tables.has("correction_runs"):
        return []
    runs = tables.read("correction_runs", ["arrived_from", "arrived_to"], ds.field("arrived_to").is_valid())
    ends = zip(runs["arrived_from"].to_pylist(), runs["arrived_to"].to_pylist(), strict=True)
    return [(BEFORE_ALL if start is None else start, end) for start, end in ends]


def uncovered(known: Iterable[Interval], until: int) -> list[Interval]:
    """Return the parts of (-∞, until] outside all intervals, in order."""
    gaps, low = [], BEFORE_ALL
    for start, end in sorted(known):
        if low < min(start, until):
            gaps.append((low, min(start, until)))
        low = max(low, end)
    return [*gaps, (low, until)] if low < until else gaps


def near_gaps(gaps: Sequence[Interval]) -> ds.Expression:
    """Return a condition that selects the rows of `late` in the gaps, which are in order, and some rows near them.

    A condition with a part for each of many gaps would exhaust the stack of Arrow's threads; see `gap_of`.
    """
    low, high = coarsen_ranges(_ends(gaps), _MOST_RANGES)
    return within_any("arrived", low.tolist(), high.tolist())


def gap_of(arrived: Ints, gaps: Sequence[Interval]) -> Ints:
    """Return the index of the gap that contains each arrival (ms), -1 where none does; gaps are in order."""
    if not gaps:
        return np.full(len(arrived), -1)
    low, high = _ends(gaps)
    index = np.minimum(np.searchsorted(high, arrived), len(gaps) - 1)
    return np.where((arrived > low[index]) & (arrived <= high[index]), index, -1)


def count_late(tables: Tables, gaps: Sequence[Interval]) -> Ints:
    """Count the late tuples of gaps, which are in order; shape (n,). Only some rows are in memory at a time."""
    counts = np.zeros(len(gaps), np.int64)
    if gaps and tables.has("late"):
        for batch in tables.batches("late", ["arrived", "tuples"], near_gaps(gaps)):
            rows = in_ms(pa.Table.from_batches([batch]))
            index, tuples = gap_of(rows["arrived"].to_numpy(), gaps), rows["tuples"].to_numpy()
            counts += np.bincount(index[index >= 0], tuples[index >= 0], len(gaps)).astype(np.int64)
    return counts


def count_uncorrected(layout: Layout) -> int:
    """Count the late tuples that no correction covers."""
    tables = Tables(layout)
    until = committed_until(layout, tables)
    return 0 if until is None else int(count_late(tables, uncovered(corrected_intervals(tables), until)).sum())


def _ends(gaps: Sequence[Interval]) -> Ranges:
    low, high = np.array(gaps, np.int64).reshape(-1, 2).T
    return low, high
