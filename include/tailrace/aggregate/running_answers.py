"""Answers of windows step by step, as a greater slack K (allowed lateness) gives each window more partials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.aggregate.aggregates import Aggregates
from tailrace.ground.arrow.grouped_rows import GroupedRows
from tailrace.ground.arrow.value_column import Ints
from tailrace.windows.panes import Arrays

_EVERY = "tuples"
"""The column with the numbers of tuples, if an answer needs it."""

FEW_PAIRS = 10_000
"""The most pairs of a step and a partial that are merged at once."""


@dataclass(frozen=True)
class Steps:
    """The s steps of m windows, one for each distinct need; by window, and then ascending.

    Attributes
    ----------
    rows : GroupedRows
        The partials, grouped by the step at which their window gets them.
    window, need : ndarray, shape (s,)
        The window of each step, in [0, m), and the K (ms) with which it is reached.
    first, last : ndarray, shape (s,)
        The indices of the first and of the last step of the same window.
    """

    rows: GroupedRows
    window: Ints
    need: Ints
    first: Ints
    last: Ints

    @staticmethod
    def from_partials(window: Ints, need: Ints) -> Steps:
        """Build the steps of n partials, given each one's window and the least K with which the window gets it."""
        needs, of_need = GroupedRows.from_codes(need)
        code, rows = GroupedRows.from_codes(window * len(needs) + of_need.group)
        of_window, number = np.divmod(code, len(needs))
        starts = np.flatnonzero(np.diff(of_window, prepend=-1))
        ends = np.append(starts[1:], len(code)) - 1
        return Steps(rows, of_window, needs[number], starts[of_window], ends[of_window])

    def answers(
        self, merging: Aggregates, keeping: Aggregates, columns: Mapping[str, NDArray[Any]]
    ) -> dict[str, pa.Array]:
        """Return the answers at each step, given the partials' columns; shape (s,) each.

        Aggregates that keep values read all partials of each step; for the others, partials are merged step by step. If
        the column `tuples` is given, the numbers of tuples are returned, too.
        """
        running = self._running(merging, columns)
        answers = {_EVERY: pa.array(running[_EVERY])} if _EVERY in running else {}
        answers |= merging.finish(_batch(running))
        squares = [each.squares.name for each in merging.aggregates if each.squares is not None]
        answers |= {name: pa.array(running[name]) for name in squares}
        if keeping.aggregates:
            step, row = self._partials_by_step
            columns = {name: columns[name] for name in keeping.types if name != _EVERY}
            _, values = keeping.answer(step, row, columns | {_EVERY: np.zeros(len(self.rows.cell), np.int64)})
            answers |= keeping.finish(_batch(values))
        return answers

    def at(self, age: Ints) -> tuple[Ints, Ints]:
        """Return the index of the step that each of m windows has reached at l ages, and of its last step.

        Both are by window and then by age, shape (m·l,); the index is −1 if a window has no partial yet.
        """
        ends = np.flatnonzero(self.last == np.arange(len(self.last)))
        ages = np.unique(np.concatenate([self.need, age]))
        code = self.window * len(ages) + np.searchsorted(ages, self.need)
        wanted = np.arange(len(ends))[:, None] * len(ages) + np.searchsorted(ages, age)
        index = np.searchsorted(code, wanted, side="right") - 1
        index = np.where(index >= self.first[ends][:, None], index, -1)
        return index.ravel(), np.repeat(ends, len(age))

    def required_need(self, is_off: NDArray[np.bool_]) -> Ints:
        """Return for each window the least need from which its answer is never off again; shape (m,).

        The last step of a window, with all partials, is never off.
        """
        step = np.arange(len(self.need))
        right_from = np.where(is_off & (step < self.last), step + 1, self.first)
        return self.need[np.maximum.reduceat(right_from, np.flatnonzero(step == self.first))]

    def _running(self, aggregates: Aggregates, columns: Mapping[str, NDArray[Any]]) -> Arrays:
        """Merge the partials of each window at each step.

        Few pairs of a step and a partial are merged at once. Otherwise the partials of each step are merged, and then
        each step with the steps before it, at doubling distances (Hillis & Steele, Data Parallel Algorithms, 1986).
        This works because merging is associative.
        """
        if not aggregates.aggregates and _EVERY not in columns:
            return {}
        if len(self.rows.cell) * len(self.need) <= FEW_PAIRS:
            step, row = self._partials_by_step
            pairs = GroupedRows(step.astype(np.int32), len(self.need), np.arange(len(self.need)))
            return _merge(aggregates, pairs, {name: column[row] for name, column in columns.items()})
        running = _merge(aggregates, self.rows, columns)
        index = np.arange(len(self.need)) - self.first
        distance, longest = 1, int(index.max()) + 1
        while distance < longest:
            later = np.flatnonzero(index >= distance)
            row = np.concatenate([later - distance, later])
            number = np.arange(len(later), dtype=np.int32)
            pairs = GroupedRows(np.concatenate([number, number]), len(later), number)
            merged = _merge(aggregates, pairs, {name: column[row] for name, column in running.items()})
            running = {name: column.copy() for name, column in running.items()}
            for name, column in merged.items():
                running[name][later] = column
            distance *= 2
        return running

    @property
    def _partials_by_step(self) -> tuple[Ints, Ints]:
        """The pairs of a step and a partial that the window has at that step."""
        step = self.rows.group
        count = self.last[step] - step + 1  # a partial counts at its own step and at all later ones
        row = np.repeat(np.arange(len(step)), count)
        return step[row] + np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count), row


def _merge(aggregates: Aggregates, rows: GroupedRows, columns: Mapping[str, NDArray[Any]]) -> Arrays:
    tuples = {_EVERY: rows.fold(columns[_EVERY], "sum")} if _EVERY in columns else {}
    return tuples | aggregates.merge_rows(rows, dict(columns))


def _batch(columns: Arrays) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({name: pa.array(column) for name, column in columns.items()})
