"""Uncorrected late tuples: those that no correction in the ledger covers. No Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from operator import or_
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.correction.intervals import Interval, corrected_intervals, gap_of, near_gaps, uncovered
from tailrace.correction.late_in_sessions import late_in_sessions
from tailrace.ground.arrow.matching import select
from tailrace.ground.arrow.ranges import Ints
from tailrace.ground.time_limits import BEFORE_ALL, LATEST_MS
from tailrace.storage.progress import committed_until
from tailrace.storage.table_schemas import LATE_TIMES
from tailrace.storage.tables import Tables


class LateSpan(NamedTuple):
    """A number of late tuples, and the range [start, end) of their event times in ms; None without tuples."""

    late: int
    start: int | None
    end: int | None


@dataclass(frozen=True)
class Uncorrected:
    """The n rows of the table `late` that are committed and not corrected.

    Attributes
    ----------
    arrived : ndarray, shape (n,)
        As in the table, in ms; for a tuple in a session, the time at which that was answered (`late_in_sessions`).
    event_time : ndarray, shape (n,)
        The event time of each, or the start of its pane, as in the table; in ms.
    covered : tuple of Interval
        The intervals of arrival whose late tuples are corrected (or, after `excluding`, requested).
    until : int
        The arrival time up to which the stream has committed, in ms.
    """

    arrived: NDArray[np.int64]
    event_time: NDArray[np.int64]
    covered: tuple[Interval, ...]
    until: int

    @staticmethod
    def read(tables: Tables) -> Uncorrected | None:
        """Read the uncorrected rows, from files that have any; None if the stream has committed nothing."""
        until = committed_until(tables)
        if until is None:
            return None
        known = corrected_intervals(tables)
        (time,) = set(LATE_TIMES) & set(tables.schema("late").names)
        gaps = uncovered(known, until)
        late = tables.read("late", ["arrived", time], near_gaps(gaps))
        late = select(late, gap_of(late["arrived"].to_numpy(), gaps) >= 0)
        late = pa.concat_tables([late, late_in_sessions(tables, late.column_names, gaps)])
        return Uncorrected(late["arrived"].to_numpy(), late[time].to_numpy(), tuple(known), until)

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

        It is measured from the start of the earliest pane to the end of the latest one, so it exceeds max − min by at
        most two panes. It is 0 without rows. Event times of pairs count as panes of 1 ms.
        """
        return int(self.event_time.max() - self.event_time.min()) + pane_ms if len(self) else 0

    def interval(self, tick_ms: int) -> Interval:
        """Return the interval of arrival [a, b), in multiples of the tick, that contains all rows, at least one.

        It begins at the end of the covered intervals, and ends at the committed arrival time. So the ledger has no
        gaps, and few rows of `late` are read.
        """
        first, tick = int(self.arrived.min()), max(tick_ms, 1)
        low = next(low for low, high in uncovered(self.covered, self.until) if low < first <= high)
        return (first - 1 if low == BEFORE_ALL else low) // tick * tick, self.until // tick * tick


def count_late(tables: Tables, gaps: Sequence[Interval]) -> Ints:
    """Count the late tuples in gaps, which are in order; shape (n,). Few rows are in memory at a time."""
    counts = np.zeros(len(gaps), np.int64)
    for rows, index in _rows_in(tables, gaps, ["tuples"]):
        counts += np.bincount(index, rows["tuples"].to_numpy(), len(gaps)).astype(np.int64)
    return counts


def span_uncorrected(tables: Tables, arrived: Interval) -> LateSpan:
    """Return the span of the uncorrected late tuples that arrived in an interval; they are read in parts."""
    low, high = arrived
    gaps = uncovered([(BEFORE_ALL, low), *corrected_intervals(tables)], min(high, LATEST_MS))
    (time,) = set(LATE_TIMES) & set(tables.schema("late").names) if tables.has("late") else ("",)
    parts = [
        (rows["tuples"].to_numpy().sum(), rows[time].to_numpy().min(), rows[time].to_numpy().max())
        for rows, _ in _rows_in(tables, gaps, ["tuples", time])
        if rows.num_rows
    ]
    if not parts:
        return LateSpan(0, None, None)
    late, first, last = np.array(parts, np.int64).T
    return LateSpan(int(late.sum()), int(first.min()), int(last.max()) + 1)


def _rows_in(tables: Tables, gaps: Sequence[Interval], names: list[str]) -> Iterator[tuple[pa.Table, Ints]]:
    """Yield the rows of the table `late` in gaps, which are in order, and the index of each row's gap."""
    if gaps and tables.has("late"):
        columns = ["arrived", *names]
        batches = tables.batches("late", columns, near_gaps(gaps))
        for rows in chain(batches, [late_in_sessions(tables, columns, gaps)]):
            index = gap_of(rows["arrived"].to_numpy(), gaps)
            yield select(rows, index >= 0), index[index >= 0]


def count_uncorrected(tables: Tables) -> int:
    """Count the late tuples that no correction covers, including those in sessions that closed since the last tick."""
    if committed_until(tables) is None:
        return 0
    return int(count_late(tables, uncovered(corrected_intervals(tables), LATEST_MS)).sum())
