"""Sample of the partials of a few keys, to compute the slack K (allowed lateness) that each answer needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.disorder.arrival_curves import CoverageCurves
from tailrace.disorder.error_model import Ints, PromisedAnswers
from tailrace.disorder.policy import PolicyState
from tailrace.disorder.quantile.key_sketch import KeySketch, stretch_of
from tailrace.disorder.tick_statistics import TickRows
from tailrace.windows.windows import Windows

SAMPLED = "row_"
"""Prefix of the sample's columns in the state of a policy; no other part has it."""

_NAMES = ("pane", "group", "before")
_MAX_CELLS, _MIN_WAITS = 2_000_000, 64  # partials times distinct waits at once; waits always allowed


@dataclass(frozen=True)
class WindowSample:
    """Partials of the sampled keys, from this call and earlier ones.

    Attributes
    ----------
    columns : dict of ndarray, shape (n,)
        `pane` and `group` as in the sample; `before`, t_max before the partial's tick; and the columns that the
        promised answers need. Ordered by pane and then by arrival.
    at : ndarray, shape (n,)
        The index of the partial's tick among this call's ticks; −1 for partials of earlier calls.
    groups : KeySketch
        The keys that count.
    """

    windows: Windows
    promised: PromisedAnswers
    columns: dict[str, NDArray[Any]]
    at: Ints
    groups: KeySketch

    @staticmethod
    def restore(
        windows: Windows, promised: PromisedAnswers, state: PolicyState, sample: TickRows, before: Ints
    ) -> WindowSample:
        """Restore the partials of earlier calls, and add this call's; `before` is t_max before each, shape (m,)."""
        new = sample.columns | {"before": before}
        names = (*_NAMES, *promised.columns)
        earlier = {name: state.get(SAMPLED + name, new[name][:0]) for name in names}
        columns = {name: np.concatenate([earlier[name], new[name]]) for name in names}
        at = np.concatenate([np.full(len(earlier["pane"]), -1), sample.at])
        order = np.argsort(columns["pane"], kind="stable")
        columns = {name: column[order] for name, column in columns.items()}
        return WindowSample(windows, promised, columns, at[order], KeySketch.restore(windows, state, sample)[0])

    def checkpoint(self, end: Ints, t_max: int) -> PolicyState:
        """Return as state the partials of windows that end after t_max, or at one of the given ascending ends."""
        pane = self.columns["pane"]
        index = np.searchsorted(end, pane, side="right")  # the first given end after the pane's start
        next_end = np.append(end, pane.max(initial=0) + 2 * self.windows.size_ms)[index]
        is_needed = (self.windows.start(next_end) <= pane) | (self.windows.last_end(pane) > t_max)
        rows: PolicyState = {SAMPLED + name: column[is_needed] for name, column in self.columns.items()}
        oldest = self.windows.start(end.min(initial=t_max, keepdims=True))
        return rows | self.groups.checkpoint(int(stretch_of(self.windows, oldest)[0]))

    def required_slack(self, end: int, tick: int, error: float) -> Ints:
        """Return the K that each answer of the window with this end would have needed, as known at a tick.

        Returns
        -------
        ndarray, shape (a, m)
            For each of a promised columns and m keys: the least K (ms) with which the answer is off by less than
            `error`.
        """
        partials = self._partials(end, tick)
        if partials is None:
            return np.zeros((len(self.promised.names), 0), np.int64)
        return self.promised.required_slack(error, *partials)

    def off(self, end: int, tick: int, error: float, age: Ints, curves: CoverageCurves) -> NDArray[np.bool_]:
        """Test which answers of the window with this end are off if it closes at each of l ages, as known at a tick.

        Returns
        -------
        ndarray, shape (a, m, l)
            For a promised columns and m keys. Estimates are scaled by the expected coverage at the tick.
        """
        partials = self._partials(end, tick)
        if partials is None:
            return np.zeros((len(self.promised.names), 0, len(age)), bool)
        return self.promised.off(error, *partials, age, curves.at(np.full(len(age), tick), age))

    def _partials(self, end: int, tick: int) -> tuple[Ints, Ints, dict[str, NDArray[Any]]] | None:
        """Return the partials of the window with this end, as known at a tick: their answers, needs and columns.

        If the window lies in two stretches, only the keys that count in both are complete, and only they are evaluated.
        """
        start = self.windows.start(end)
        rows = slice(*np.searchsorted(self.columns["pane"], [start, end]))
        first, last = stretch_of(self.windows, np.array([start, end - 1])).tolist()
        groups = self.groups.at(tick, first)
        if first != last:
            groups = np.intersect1d(groups, self.groups.at(tick, last))
        group = self.columns["group"][rows].view(np.uint64)
        is_used = (self.at[rows] <= tick) & np.isin(group, groups)
        if not is_used.any():
            return None
        used = {name: column[rows][is_used] for name, column in self.columns.items()}
        answer = np.unique(group[is_used], return_inverse=True)[1]
        return answer, _coarsen(np.maximum(used["before"] - end + 1, 0)), used


def _coarsen(need: Ints) -> Ints:
    """Round up the waits of a window's partials, shape (n,), if too many are distinct."""
    distinct, most = np.unique(need), max(_MAX_CELLS // len(need), _MIN_WAITS)
    if len(distinct) <= most:
        return need
    edges = np.append(distinct[0], distinct[::-1][:: -(-len(distinct) // most)][::-1])
    return edges[np.searchsorted(edges, need)]
