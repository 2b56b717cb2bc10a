"""Rows by key and time, as columns, and the answers of the windows over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.ground.columns import pair
from tailrace.windows.sliding import Sliding

Ints = NDArray[np.int64]
Columns = dict[str, NDArray[Any]]

AT_ONCE = 1 << 22
"""So many rows, each counted once for every window it is in, are closed at once: it bounds the memory of a step."""


class Summary(Protocol):
    """What a kind keeps of a pane, and answers of a window: how rows that belong together come together."""

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The columns of a row: `tuples`, over all rows of a pane how many it holds, and the kind's own."""

    @property
    def adds(self) -> bool:
        """Whether late tuples can be added to an answer by the sum of their `total`."""

    def merge(self, code: Ints, columns: Columns) -> tuple[Ints, Columns]:
        """The row, or the few, that rows of equal code come to; columns of shape (n,). `code` comes out ascending."""

    def answer(self, code: Ints, row: Ints, columns: Columns) -> tuple[Ints, Columns]:
        """The answers of windows: a row, or a few, for each code; `code` comes out ascending.

        Parameters
        ----------
        code, row : ndarray, shape (n,)
            Pairs of a window (a code) and the place of a row that it holds.
        """


@dataclass(frozen=True)
class Rows:
    """n rows by key (a code) and time (a pane's start, or a window's end); each column is of shape (n,)."""

    key: Ints
    time: Ints
    columns: Columns

    def __len__(self) -> int:
        return len(self.key)

    def __getitem__(self, part: NDArray[np.bool_] | Ints) -> Rows:
        return Rows(self.key[part], self.time[part], {name: column[part] for name, column in self.columns.items()})

    def with_keys(self, keys: pa.Array) -> pa.RecordBatch:
        """The rows with their keys, of which `key` holds the codes."""
        columns = [pa.array(column) for column in self.columns.values()]
        key = keys.take(pa.array(self.key))
        return pa.RecordBatch.from_arrays([key, pa.array(self.time), *columns], names=["key", "time", *self.columns])

    @staticmethod
    def empty(types: dict[str, pa.DataType]) -> Rows:
        columns = {name: pa.array([], kind).to_numpy(zero_copy_only=False) for name, kind in types.items()}
        return Rows(*(np.zeros(0, np.int64),) * 2, columns)

    @staticmethod
    def concat(parts: list[Rows]) -> Rows:
        """All the rows, one part after another."""
        columns = {name: np.concatenate([part.columns[name] for part in parts]) for name in parts[0].columns}
        key, time = (np.concatenate([getattr(part, name) for part in parts]) for name in ("key", "time"))
        return Rows(key, time, columns)

    @staticmethod
    def merge(parts: list[Rows], summary: Summary, step: int) -> Rows:
        """The rows, merged by key and time; all times must be alike modulo `step`."""
        rows = Rows.concat(parts)
        code, split = pair(rows.time // step, rows.key)
        rest = int(rows.time[0]) % step if len(rows) else 0
        code, columns = summary.merge(code, rows.columns)
        time, key = split(code)
        return Rows(key, time * step + rest, columns)


def evaluate_windows(
    windows: Sliding, summary: Summary, panes: Rows, strays: Rows, after: int | None, until: int | None
) -> Rows:
    """Answer the windows whose end is in (after, until]; None: unbounded.

    Parameters
    ----------
    panes : Rows
        Rows of panes, each of which counts in every window over it.
    strays : Rows
        Rows of windows.

    Returns
    -------
    Rows
        The answer of each key and window, by the window's end.
    """
    if not len(panes) + len(strays):
        return _close(windows, summary, panes, strays, 0, 0)
    first = np.concatenate([windows.first_end(panes.time), strays.time])
    last = np.concatenate([windows.last_end(panes.time), strays.time])
    low, high = int(first.min()) - windows.slide_ms, int(last.max())
    low = low if after is None else max(low, windows.end_until(after))
    high = high if until is None else min(high, windows.end_until(until))
    ranges = _ranges(first - windows.slide_ms, last, low, high, windows.slide_ms)
    return Rows.concat([_close(windows, summary, panes, strays, *ends) for ends in ranges])


def _close(windows: Sliding, summary: Summary, panes: Rows, strays: Rows, low: int, high: int) -> Rows:
    within = (windows.last_end(panes.time) > low) & (windows.first_end(panes.time) <= high)
    panes, strays = panes[within], strays[(strays.time > low) & (strays.time <= high)]
    row, end = windows.ends(panes.time, low, high)
    row, end = np.concatenate([row, len(panes) + np.arange(len(strays))]), np.concatenate([end, strays.time])
    rows = Rows.concat([panes, strays])
    code, split = pair((end - windows.size_ms) // windows.slide_ms, rows.key[row])
    code, columns = summary.answer(code, row, rows.columns)
    number, key = split(code)
    return Rows(key, number * windows.slide_ms + windows.size_ms, columns)


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
