"""Intervals of arrival that corrections in the ledger cover, and the gaps between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow.dataset as ds

from tailrace.ground.arrow.ranges import Ints, Ranges, coarsen_ranges
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.storage.tables import Tables, within_any
from tailrace.tables.correction import CORRECTION_RUNS

Interval = tuple[int, int]
"""(a, b] of `arrived`, the end of a tuple's tick, in ms: the tuples that arrived in [a, b), both multiples of
the tick.
"""

_MOST_RANGES = 16  # gaps in one condition on a table; the nearest are merged if there are more


def corrected_intervals(tables: Tables) -> list[Interval]:
    """Return the intervals of arrival whose late tuples are corrected according to the ledger.

    Corrections over event time are included.
    """
    runs = tables.read_or_empty(CORRECTION_RUNS, ["arrived_from", "arrived_to"], ds.field("arrived_to").is_valid())
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


def near_gaps(gaps: Sequence[Interval], column: str = "arrived") -> ds.Expression:
    """Return a condition on rows with a time in or near the gaps, which are in order.

    Near gaps are merged, as a condition with too many parts would exhaust the stack of Arrow's threads; see `gap_of`.
    """
    low, high = coarsen_ranges(_ends(gaps), _MOST_RANGES)
    return within_any(column, low.tolist(), high.tolist())


def gap_of(arrived: Ints, gaps: Sequence[Interval]) -> Ints:
    """Return the index of the gap that contains each arrival (ms), -1 if none does; gaps are in order."""
    if not gaps:
        return np.full(len(arrived), -1)
    low, high = _ends(gaps)
    index = np.minimum(np.searchsorted(high, arrived), len(gaps) - 1)
    return np.where((arrived > low[index]) & (arrived <= high[index]), index, -1)


def _ends(gaps: Sequence[Interval]) -> Ranges:
    low, high = np.array(gaps, np.int64).reshape(-1, 2).T
    return low, high
