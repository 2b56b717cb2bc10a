"""What windows of a few keys hold, partial by partial: from it comes what each answer would have needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.disorder.groups import GROUPS, Hashes, changes
from tailrace.disorder.policy import Kept
from tailrace.disorder.seen import Ints, Promise, Rows
from tailrace.windows.sliding import Sliding

_NAMES = ("pane", "group", "before", "tuples", "total")


@dataclass
class Evidence:
    """Partials of the sample.

    Attributes
    ----------
    columns : dict of ndarray, shape (n,)
        `pane`, `group`, `tuples` and `total` as in the sample, and `before`, t_max before the partial came; by pane and
        then in order of arrival.
    at : ndarray, shape (n,)
        The place of the partial's tick among those of this call; −1 for what came in earlier ones.
    groups : ndarray, shape (≤ 16,)
        The keys that count, ascending.
    changes : list of (int, ndarray)
        The ticks of this call at which other keys come to count, and `groups` from then on.
    """

    windows: Sliding
    columns: dict[str, NDArray[Any]]
    at: Ints
    groups: Hashes
    changes: list[tuple[int, Hashes]]

    @staticmethod
    def restore(windows: Sliding, kept: Kept, sample: Rows, before: Ints) -> Evidence:
        """What earlier calls have left, and the sample of this one, which found t_max at `before`, shape (m,)."""
        fresh = sample.columns | {"before": before}
        earlier = {name: kept.get(f"row_{name}", fresh[name][:0]) for name in _NAMES}
        columns = {name: np.concatenate([earlier[name], fresh[name]]) for name in _NAMES}
        at = np.concatenate([np.full(len(earlier["pane"]), -1), sample.at])
        order = np.argsort(columns["pane"], kind="stable")
        columns = {name: column[order] for name, column in columns.items()}
        groups = kept.get("groups", fresh["group"][:0]).view(np.uint64)
        return Evidence(windows, columns, at[order], groups, changes(groups, sample))

    def kept(self, end: Ints, t_max: int) -> Kept:
        """The partials of windows that end after t_max, or are among those given, ascending."""
        pane = self.columns["pane"]
        place = np.searchsorted(end, pane, side="right")  # the first of them that ends after the pane's start
        covered = np.append(end, pane.max(initial=0) + 2 * self.windows.size_ms)[place] - self.windows.size_ms <= pane
        wanted = covered | (self.windows.last_end(pane) > t_max)
        rows: Kept = {f"row_{name}": column[wanted] for name, column in self.columns.items()}
        return rows | {"groups": self.groups.view(np.int64)}

    def reach(self, tick: int) -> None:
        """Go on to a tick of this call."""
        while self.changes and self.changes[0][0] <= tick:
            self.groups = self.changes.pop(0)[1]

    def needs(self, end: Ints, tick: int, error: float, promise: Promise) -> tuple[Ints, Ints]:
        """What each answer would have needed, by what is known at a tick.

        Parameters
        ----------
        end : ndarray, shape (w,)
            Windows.

        Returns
        -------
        window, need : ndarray, shape (m,)
            For each answer the place of its window in `end`, ascending, and the least K, in ms, with which it is off by
            less than `error`.
        """
        if not len(self.groups):  # no key has come yet that the sample has
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        first, last = (np.searchsorted(self.columns["pane"], edge) for edge in (end - self.windows.size_ms, end))
        many = last - first
        window = np.repeat(np.arange(len(end)), many)
        row = np.repeat(last - np.cumsum(many), many) + np.arange(len(window))
        group = self.columns["group"][row].view(np.uint64)
        rank = np.minimum(np.searchsorted(self.groups, group), len(self.groups) - 1)
        counts = (self.at[row] <= tick) & (self.groups[rank] == group)
        window, row, rank = window[counts], row[counts], rank[counts]
        if not len(row):
            return window, row
        before, tuples, total = (self.columns[name][row] for name in ("before", "tuples", "total"))
        answer, code = np.unique(window * GROUPS + rank, return_inverse=True)
        need = np.maximum(before - end[window] + 1, 0)
        return answer // GROUPS, promise.needed(error, code, need, tuples, total)
