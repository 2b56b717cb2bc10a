"""Columnar rows by key and pane, and the evaluation of sliding windows over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import group_sums, pair
from tailrace.windows.windows import Windows

Ints = NDArray[np.int64]
Arrays = dict[str, NDArray[Any]]

AT_ONCE = 1 << 22
"""The most rows evaluated at once, counting a row for every window that contains it; bounds the memory of a step."""


class Summary(Protocol):
    """Aggregation of a kind: the columns stored for a pane, how rows merge, and how windows are answered."""

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The column types of a row: `tuples` and the kind's own columns.

        The sum of `tuples` over the rows of a pane is its tuple count.
        """

    def late(self, group_id: Ints, columns: Arrays) -> tuple[Ints, dict[str, pa.Array]]:
        """Merge the late rows of each group into one row, with which an answer without them may be amended.

        Returns
        -------
        group_id : ndarray, shape (m,)
            Ascending.
        columns : dict of Array, length m
            `tuples`, and the kind's contribution to an answer; null without one.
        """

    def merge(self, group_id: Ints, columns: Arrays) -> tuple[Ints, Arrays]:
        """Merge the rows of each group into one or a few rows; columns have the shape (n,).

        The codes ascend, unless the kind stores every row unmerged.
        """

    def answer(self, group_id: Ints, row: Ints, columns: Arrays) -> tuple[Ints, Arrays]:
        """Answer windows: return one or a few rows for each code, by ascending code.

        Parameters
        ----------
        group_id, row : ndarray, shape (n,)
            Pairs of a window (a code) and the index of a row that it holds.
        """


def late_tuples(group_id: Ints, columns: Arrays) -> tuple[Ints, dict[str, pa.Array]]:
    """Count the tuples of late rows: `Summary.late` for a kind that contributes nothing to answers."""
    group_id, (tuples,) = group_sums(group_id, columns["tuples"])
    return group_id, {"tuples": pa.array(tuples), "total": pa.nulls(len(group_id), pa.float64())}


@dataclass(frozen=True)
class KeyedRows:
    """Table of n rows by key (a code) and time (a pane's start or a window's end); each column has shape (n,)."""

    key: Ints
    time: Ints
    columns: Arrays

    def __len__(self) -> int:
        return len(self.key)

    def __getitem__(self, part: NDArray[np.bool_] | Ints) -> KeyedRows:
        return KeyedRows(self.key[part], self.time[part], {name: column[part] for name, column in self.columns.items()})

    def with_keys(self, keys: pa.Array) -> pa.RecordBatch:
        """Convert to Arrow, with each code replaced by its key in `keys`."""
        columns = [pa.array(column) for column in self.columns.values()]
        key = keys.take(pa.array(self.key))
        return pa.RecordBatch.from_arrays([key, pa.array(self.time), *columns], names=["key", "time", *self.columns])

    @staticmethod
    def empty(types: dict[str, pa.DataType]) -> KeyedRows:
        columns = {name: pa.array([], dtype).to_numpy(zero_copy_only=False) for name, dtype in types.items()}
        return KeyedRows(*(np.zeros(0, np.int64),) * 2, columns)

    @staticmethod
    def concat(parts: list[KeyedRows]) -> KeyedRows:
        """Concatenate the rows of all parts in order."""
        columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns}
        key, time = (np.concatenate([getattr(part, name) for part in parts]) for name in ("key", "time"))
        return KeyedRows(key, time, columns)

    @staticmethod
    def merge(parts: list[KeyedRows], summary: Summary, step: int) -> KeyedRows:
        """Merge the rows of equal key and time; all times must be congruent modulo `step`."""
        rows = KeyedRows.concat(parts)
        group_id, split = pair(rows.time // step, rows.key)
        group_id, columns = summary.merge(group_id, rows.columns)
        steps, key = split(group_id)
        return KeyedRows(key, steps * step + _remainder(rows.time, step), columns)


def evaluate_windows(
    windows: Windows, summary: Summary, panes: KeyedRows, partial_rows: KeyedRows, after: int | None, until: int | None
) -> KeyedRows:
    """Evaluate the windows whose end is in (after, until]; None is unbounded.

    Parameters
    ----------
    panes : Rows
        Rows by pane, each of which counts in every window over its pane.
    strays : Rows
        Rows by window end, each of which only counts in that window.

    Returns
    -------
    Rows
        The answers by key and window; `time` is the window's end.
    """
    if not len(panes) + len(partial_rows):
        return _close(windows, summary, panes, partial_rows, 0, 0)
    first = np.concatenate([windows.first_end(panes.time), partial_rows.time])
    last = np.concatenate([windows.last_end(panes.time), partial_rows.time])
    low, high = windows.number(int(first.min())) - 1, windows.number(int(last.max()))
    low = low if after is None else max(low, windows.number(windows.end_until(after)))
    high = high if until is None else min(high, windows.number(windows.end_until(until)))
    ranges = [(low, high)]
    if len(first) * max(high - low, 1) > AT_ONCE:
        ranges = _ranges(windows.number(first) - 1, windows.number(last), low, high)
    bounds = [(windows.end_of(before), windows.end_of(number)) for before, number in ranges]
    return KeyedRows.concat([_close(windows, summary, panes, partial_rows, *ends) for ends in bounds])


def _close(
    windows: Windows, summary: Summary, panes: KeyedRows, partial_rows: KeyedRows, low: int, high: int
) -> KeyedRows:
    within = (windows.last_end(panes.time) > low) & (windows.first_end(panes.time) <= high)
    panes, partial_rows = panes[within], partial_rows[(partial_rows.time > low) & (partial_rows.time <= high)]
    row, end = windows.ends(panes.time, low, high)
    row, end = (
        np.concatenate([row, len(panes) + np.arange(len(partial_rows))]),
        np.concatenate([end, partial_rows.time]),
    )
    rows = KeyedRows.concat([panes, partial_rows])
    step = windows.end_step_ms
    group_id, split = pair(end // step, rows.key[row])
    group_id, columns = summary.answer(group_id, row, rows.columns)
    steps, key = split(group_id)
    return KeyedRows(key, steps * step + _remainder(end, step), columns)


def _remainder(time: Ints, step: int) -> int:
    """Return the common remainder of times that are congruent modulo `step`."""
    return int(time[0]) % step if len(time) else 0


def _ranges(before: Ints, last: Ints, low: int, high: int) -> list[tuple[int, int]]:
    """Split (low, high] into ranges of windows that hold at most `AT_ONCE` rows each, or a single window.

    Parameters
    ----------
    before, last : ndarray, shape (n,)
        For each row, the number of the window before the first one it is in, and of the last one.
    low, high : int
        Numbers of windows.
    """
    counts = np.clip(last, low, high) - np.clip(before, low, high)
    if low + 1 >= high or counts.sum() <= AT_ONCE:
        return [(low, high)]
    middle = (low + high) // 2
    return [part for bounds in ((low, middle), (middle, high)) for part in _ranges(before, last, *bounds)]
