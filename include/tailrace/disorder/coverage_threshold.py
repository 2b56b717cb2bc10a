"""λ_thr of a promise at each tick, by what the windows of a query have been like of late."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.disorder.policy import PolicyState
from tailrace.disorder.quantile.key_sketch import STRETCH, KeySketch
from tailrace.disorder.tick_statistics import Floats, TickRows, TickStatistics
from tailrace.ground.columns import group_sums, pair
from tailrace.ground.time_limits import BEFORE_ALL

_WINDOWS, _VALUES = 512, 2_000  # the newest that count
_FEWEST = 1_000  # values; fewer tell too little of a skewed population
_EVERY = 16  # windows: λ_thr moves slowly, and costs up to 10 ms
_SUMS = ("tuples", "total", "squares")
_NAMES = ("block", "group", *_SUMS, "value_group", "value")
_FLOATS = ("total", "squares", "value")


def thresholds(stats: TickStatistics, error: float, risk: float, state: PolicyState) -> tuple[Floats, PolicyState]:
    """λ_thr at each tick, shape (n,), and what is kept for it."""
    population = _RecentWindows.restore(state)
    groups, counts = KeySketch.restore(stats.windows, state, stats.sample)
    sample = TickRows(stats.sample.at[counts], {name: column[counts] for name, column in stats.sample.columns.items()})
    block = stats.t_max // stats.windows.size_ms
    share, first = np.empty(len(stats)), 0
    while first < len(stats):
        # λ_thr is that of the tick before until a tick at which it is measured anew.
        due = first + int(np.searchsorted(block[first:], population.measured + _EVERY))
        upto = min(due + 1, len(stats))
        population.take(sample.between(first, upto), stats.windows.size_ms)
        share[first:upto] = population.share
        if due < len(stats) and (full := population.full(int(block[due]))) is not None:
            assert stats.error_model is not None  # other kinds are refused with such a policy
            population.share = share[due] = stats.error_model.threshold(error, risk, *full)
        first = upto
    return share, population.checkpoint() | groups.checkpoint(population.oldest // STRETCH)


@dataclass
class _RecentWindows:
    """Windows of the query's size that lie side by side: sliding ones would only tell the same more often.

    Attributes
    ----------
    columns : dict of ndarray, shape (m,)
        `block` (the window's number), `group`, and the sums of its tuples; and the newest values and their groups,
        `value` and `value_group`.
    share : float
        λ_thr; 1 until the first windows are full.
    measured, oldest : int
        Up to which block λ_thr is measured, and the first one that is still known.
    """

    columns: dict[str, NDArray[Any]]
    share: float
    measured: int
    oldest: int

    @staticmethod
    def restore(state: PolicyState) -> _RecentWindows:
        none = {name: np.zeros(0, np.float64 if name in _FLOATS else np.int64) for name in _NAMES}
        columns = {name: state.get(f"population_{name}", none[name]) for name in _NAMES}
        return _RecentWindows(
            columns, state.get("share", 1.0), state.get("measured", BEFORE_ALL), state.get("oldest", BEFORE_ALL)
        )

    def checkpoint(self) -> PolicyState:
        arrays = {f"population_{name}": column for name, column in self.columns.items()}
        return arrays | {"share": self.share, "measured": self.measured, "oldest": self.oldest}

    def take(self, rows: TickRows, size_ms: int) -> None:
        """Some ticks' part of the sample."""
        block = rows["pane"] // size_ms
        known = block >= self.oldest  # of an older one the rest is forgotten
        own = {"block": block[known]} | {name: rows[name][known] for name in ("group", *_SUMS)}
        both = {name: np.concatenate([self.columns[name], column]) for name, column in own.items()}
        code, split = pair(both["block"], both["group"])
        code, sums = group_sums(code, *(both[name] for name in _SUMS))
        blocks, group = split(code)
        single = _newest(rows, known & (rows["tuples"] == 1))  # values, whatever the fold
        newest = {"value_group": rows["group"][single], "value": rows["total"][single]}
        values = {name: np.concatenate([self.columns[name], column])[-_VALUES:] for name, column in newest.items()}
        self.columns = {"block": blocks, "group": group} | dict(zip(_SUMS, sums, strict=True)) | values

    def full(self, block: int) -> tuple[Floats, Floats, Floats, Floats] | None:
        """The sums of windows before a block, which is reached, and values; None where there are no such windows."""
        full = self.columns["block"] < block
        if not full.any():
            return None
        values = self._leveled() if len(self.columns["value"]) >= _FEWEST else np.zeros(0)
        tuples, total, squares = (self.columns[name][full].astype(float) for name in _SUMS)
        self.measured = block
        self.oldest = max(self.oldest, int(self.columns["block"][-_WINDOWS:][0]))
        keep = self.columns["block"] >= self.oldest
        self.columns |= {name: self.columns[name][keep] for name in ("block", "group", *_SUMS)}
        return tuples, total, squares, values

    def _leveled(self) -> Floats:
        """The values over the mean size of their key's: errors are relative, and keys may be at unlike levels."""
        _, code = np.unique(self.columns["value_group"], return_inverse=True)
        value = self.columns["value"]
        size = np.bincount(code, np.abs(value)) / np.bincount(code)
        return value / np.where(size > 0, size, 1.0)[code]


def _newest(rows: TickRows, wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The places of the newest rows of those wanted; of one tick's first the smaller ones, however the log is cut."""
    place = np.flatnonzero(wanted)
    if len(place) > _VALUES:
        place = place[rows.at[place] >= rows.at[place[-_VALUES]]]
    return place[np.lexsort((rows["total"][place], rows["group"][place], rows.at[place]))][-_VALUES:]
