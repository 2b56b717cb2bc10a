"""Rows of tuples by key and time, as columns, and the answers of the windows over them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.aggregate.folds import Floats, Fold, Ints, gather, merge
from tailrace.aggregate.functions import Function
from tailrace.columns import pair
from tailrace.windows.sliding import Sliding

AT_ONCE = 1 << 22
"""So many rows, each counted once for every window it is in, are closed at once: it bounds the memory of a step."""


@dataclass(frozen=True)
class Totals:
    """Columns of shape (n,): tuples and their total by key (a code) and time (a pane's start, or a window's end)."""

    key: Ints
    time: Ints
    tuples: Ints
    total: Floats

    def __len__(self) -> int:
        return len(self.key)

    def __getitem__(self, part: NDArray[np.bool_] | Ints) -> Totals:
        return Totals(self.key[part], self.time[part], self.tuples[part], self.total[part])

    def of(self, keys: pa.Array) -> pa.RecordBatch:
        """The rows with their keys, of which `key` holds the codes."""
        columns = [keys.take(pa.array(self.key)), *map(pa.array, (self.time, self.tuples, self.total))]
        return pa.RecordBatch.from_arrays(columns, names=["key", "time", "tuples", "total"])

    @staticmethod
    def none() -> Totals:
        return Totals(*(np.zeros(0, np.int64),) * 3, np.zeros(0))

    @staticmethod
    def put(parts: list[Totals]) -> Totals:
        """All the rows, one part after another."""
        columns = zip(*((part.key, part.time, part.tuples, part.total) for part in parts), strict=True)
        return Totals(*map(np.concatenate, columns))

    @staticmethod
    def add(parts: list[Totals], fold: Fold, step: int) -> Totals:
        """The rows, merged by key and time as the fold does; all times must be alike modulo `step`."""
        rows = Totals.put(parts)
        code, split = pair(rows.time // step, rows.key)
        rest = int(rows.time[0]) % step if len(rows) else 0
        code, tuples, total = merge(fold, code, rows.tuples, rows.total)
        time, key = split(code)
        return Totals(key, time * step + rest, tuples, total)


def close(
    windows: Sliding, function: Function, panes: Totals, strays: Totals, after: int | None, until: int | None
) -> Totals:
    """Answer the windows whose end is in (after, until]; None: unbounded.

    Parameters
    ----------
    panes : Totals
        Rows of panes, each of which counts in every window over it.
    strays : Totals
        Rows of windows.

    Returns
    -------
    Totals
        A row for each key and window: its end, its tuples, and in `total` the answer.
    """
    if not len(panes) + len(strays):
        return Totals.none()
    first = np.concatenate([windows.first_end(panes.time), strays.time])
    last = np.concatenate([windows.last_end(panes.time), strays.time])
    low, high = int(first.min()) - windows.slide_ms, int(last.max())
    low = low if after is None else max(low, _end_until(windows, after))
    high = high if until is None else min(high, _end_until(windows, until))
    ranges = _ranges(first - windows.slide_ms, last, low, high, windows.slide_ms)
    return Totals.put([_close(windows, function, panes, strays, *ends) for ends in ranges])


def _close(windows: Sliding, function: Function, panes: Totals, strays: Totals, low: int, high: int) -> Totals:
    within = (windows.last_end(panes.time) > low) & (windows.first_end(panes.time) <= high)
    panes, strays = panes[within], strays[(strays.time > low) & (strays.time <= high)]
    row, end = windows.ends(panes.time, low, high)
    row, end = np.concatenate([row, len(panes) + np.arange(len(strays))]), np.concatenate([end, strays.time])
    rows = Totals.put([panes, strays])
    code, split = pair((end - windows.size_ms) // windows.slide_ms, rows.key[row])
    code, tuples, total = gather(function.fold, code, row, rows.tuples, rows.total)
    number, key = split(code)
    return Totals(key, number * windows.slide_ms + windows.size_ms, tuples, function.finish(tuples, total))


def _end_until(windows: Sliding, time: int) -> int:
    """The last end of a window at or before a time."""
    return (time - windows.size_ms) // windows.slide_ms * windows.slide_ms + windows.size_ms


def _ranges(before: Ints, last: Ints, low: int, high: int, slide: int) -> list[tuple[int, int]]:
    """(low, high] in ranges of ends that hold few enough rows to be closed at once, or one end only.

    Parameters
    ----------
    before, last : ndarray, shape (n,)
        Of each row the end before the first and the last of the windows that it is in; like `low` and `high` in steps
        of `slide`.
    """
    held = (np.clip(last, low, high) - np.clip(before, low, high)) // slide
    if low + slide >= high or held.sum() <= AT_ONCE:
        return [(low, high)]
    middle = low + (high - low) // slide // 2 * slide
    return [part for ends in ((low, middle), (middle, high)) for part in _ranges(before, last, *ends, slide)]
