"""What windows of a few keys hold, partial by partial: from it comes what each answer would have needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.disorder.policy import PolicyState
from tailrace.disorder.quantile.key_sketch import KeySketch, stretch_of
from tailrace.disorder.tick_statistics import ErrorModel, Ints, TickRows
from tailrace.windows.sliding import Sliding

_NAMES = ("pane", "group", "before", "tuples", "total")
_CELLS, _STEPS = 2_000_000, 64  # partials times waits that are looked at together; and waits at least


@dataclass(frozen=True)
class WindowSample:
    """Partials of the sample.

    Attributes
    ----------
    columns : dict of ndarray, shape (n,)
        `pane`, `group`, `tuples` and `total` as in the sample, and `before`, t_max before the partial came; by pane and
        then in order of arrival.
    at : ndarray, shape (n,)
        The place of the partial's tick among those of this call; −1 for what came in earlier ones.
    groups : Groups
        The keys that count.
    """

    windows: Sliding
    columns: dict[str, NDArray[Any]]
    at: Ints
    groups: KeySketch

    @staticmethod
    def restore(windows: Sliding, state: PolicyState, sample: TickRows, before: Ints) -> WindowSample:
        """What earlier calls have left, and the sample of this one, which found t_max at `before`, shape (m,)."""
        fresh = sample.columns | {"before": before}
        earlier = {name: state.get(f"row_{name}", fresh[name][:0]) for name in _NAMES}
        columns = {name: np.concatenate([earlier[name], fresh[name]]) for name in _NAMES}
        at = np.concatenate([np.full(len(earlier["pane"]), -1), sample.at])
        order = np.argsort(columns["pane"], kind="stable")
        columns = {name: column[order] for name, column in columns.items()}
        return WindowSample(windows, columns, at[order], KeySketch.restore(windows, state, sample)[0])

    def checkpoint(self, end: Ints, t_max: int) -> PolicyState:
        """The partials of windows that end after t_max, or are among those given, ascending."""
        pane = self.columns["pane"]
        place = np.searchsorted(end, pane, side="right")  # the first of them that ends after the pane's start
        covered = np.append(end, pane.max(initial=0) + 2 * self.windows.size_ms)[place] - self.windows.size_ms <= pane
        wanted = covered | (self.windows.last_end(pane) > t_max)
        rows: PolicyState = {f"row_{name}": column[wanted] for name, column in self.columns.items()}
        oldest = end.min(initial=t_max, keepdims=True) - self.windows.size_ms
        return rows | self.groups.checkpoint(int(stretch_of(self.windows, oldest)[0]))

    def required_slack(self, end: int, tick: int, error: float, promise: ErrorModel) -> Ints:
        """What each answer of the window that ends at `end` would have needed, by what is known at a tick.

        Of a window in two stretches the keys that count in both are known in whole.

        Returns
        -------
        ndarray, shape (m,)
            For each answer the least K, in ms, with which it is off by less than `error`.
        """
        mine = slice(*np.searchsorted(self.columns["pane"], [end - self.windows.size_ms, end]))
        begun, ended = stretch_of(self.windows, np.array([end - self.windows.size_ms, end - 1])).tolist()
        groups = self.groups.at(tick, begun)
        if begun != ended:
            groups = np.intersect1d(groups, self.groups.at(tick, ended))
        group = self.columns["group"][mine].view(np.uint64)
        counts = (self.at[mine] <= tick) & np.isin(group, groups)
        if not counts.any():
            return np.zeros(0, np.int64)
        before, tuples, total = (self.columns[name][mine][counts] for name in ("before", "tuples", "total"))
        answer = np.unique(group[counts], return_inverse=True)[1]
        return promise.required_slack(error, answer, _coarse(np.maximum(before - end + 1, 0)), tuples, total)


def _coarse(need: Ints) -> Ints:
    """Waits of a window's partials, shape (n,); where there are very many different ones some are rounded up."""
    distinct, most = np.unique(need), max(_CELLS // len(need), _STEPS)
    if len(distinct) <= most:
        return need
    edges = np.append(distinct[0], distinct[::-1][:: -(-len(distinct) // most)][::-1])
    return edges[np.searchsorted(edges, need)]
