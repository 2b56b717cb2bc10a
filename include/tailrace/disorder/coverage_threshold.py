"""Coverage threshold λ_thr of a promise (error, risk) at each tick, estimated from a query's recent windows."""

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
from tailrace.windows.windows import Windows

_MAX_WINDOWS, _MAX_VALUES = 512, 2_000  # only the newest count
_MIN_VALUES = 1_000  # fewer say too little of a skewed population
_MEASURE_EVERY = 16  # windows: λ_thr moves slowly, and measuring it takes up to 10 ms
_SUMS = ("tuples", "total", "squares")
_NAMES = ("block", "group", *_SUMS, "value_group", "value")
_FLOATS = ("total", "squares", "value")


def thresholds(stats: TickStatistics, error: float, risk: float, state: PolicyState) -> tuple[Floats, PolicyState]:
    """Compute λ_thr at each tick, shape (n,), and the state for the next call."""
    population = _RecentWindows.restore(state)
    groups, in_use = KeySketch.restore(stats.windows, state, stats.sample)
    sample = TickRows(stats.sample.at[in_use], {name: column[in_use] for name, column in stats.sample.columns.items()})
    block = stats.windows.block(stats.t_max)
    share, first = np.empty(len(stats)), 0
    while first < len(stats):
        # Each tick takes over the λ_thr of the tick before, up to one at which it is measured again.
        due = first + int(np.searchsorted(block[first:], population.measured + _MEASURE_EVERY))
        upto = min(due + 1, len(stats))
        population.add(sample.between(first, upto), stats.windows)
        share[first:upto] = population.share
        if due < len(stats) and (sums := population.full_windows(int(block[due]))) is not None:
            assert stats.error_model is not None  # other kinds are refused with such a policy
            population.share = share[due] = stats.error_model.threshold(error, risk, *sums)
        first = upto
    return share, population.checkpoint() | groups.checkpoint(population.oldest // STRETCH)


@dataclass
class _RecentWindows:
    """Recent tumbling windows of the query's size; sliding ones would only repeat the same tuples.

    Attributes
    ----------
    columns : dict of ndarray, shape (m,)
        By window and group: `block` (the window's number), `group`, and the sums over its tuples. Besides, in columns
        of a shape of their own: the newest values and their groups, `value` and `value_group`.
    share : float
        The latest λ_thr; 1 until the first windows are full.
    measured, oldest : int
        The block that the latest measurement of λ_thr stops before, and the first block that is still stored.
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

    def add(self, rows: TickRows, windows: Windows) -> None:
        """Add the part of the sample that belongs to some ticks."""
        block = windows.block(rows["pane"])
        is_stored = block >= self.oldest  # the rest of an older block is no longer stored
        new = {"block": block[is_stored]} | {name: rows[name][is_stored] for name in ("group", *_SUMS)}
        columns = {name: np.concatenate([self.columns[name], column]) for name, column in new.items()}
        code, split = pair(columns["block"], columns["group"])
        code, sums = group_sums(code, *(columns[name] for name in _SUMS))
        blocks, group = split(code)
        single = _newest(rows, is_stored & (rows["tuples"] == 1))  # such a row's total is a value, whatever the fold
        newest = {"value_group": rows["group"][single], "value": rows["total"][single]}
        values = {name: np.concatenate([self.columns[name], column])[-_MAX_VALUES:] for name, column in newest.items()}
        self.columns = {"block": blocks, "group": group} | dict(zip(_SUMS, sums, strict=True)) | values

    def full_windows(self, block: int) -> tuple[Floats, Floats, Floats, Floats] | None:
        """Return the sums of the windows before `block`, and values; None if there are no such windows.

        `block` is the one that t_max has reached; it becomes `measured`, and all but the newest windows are dropped.
        """
        is_full = self.columns["block"] < block
        if not is_full.any():
            return None
        values = self._relative_values() if len(self.columns["value"]) >= _MIN_VALUES else np.zeros(0)
        tuples, total, squares = (self.columns[name][is_full].astype(float) for name in _SUMS)
        self.measured = block
        self.oldest = max(self.oldest, int(self.columns["block"][-_MAX_WINDOWS:][0]))
        keep = self.columns["block"] >= self.oldest
        self.columns |= {name: self.columns[name][keep] for name in ("block", "group", *_SUMS)}
        return tuples, total, squares, values

    def _relative_values(self) -> Floats:
        """Divide each value by the mean magnitude of its key's: errors are relative, and keys may differ in scale."""
        _, code = np.unique(self.columns["value_group"], return_inverse=True)
        value = self.columns["value"]
        size = np.bincount(code, np.abs(value)) / np.bincount(code)
        return value / np.where(size > 0, size, 1.0)[code]


def _newest(rows: TickRows, wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the indices of the newest wanted rows, at most `_MAX_VALUES`, by tick, then group, then total.

    The order within a tick makes the choice the same however the log is cut.
    """
    place = np.flatnonzero(wanted)
    if len(place) > _MAX_VALUES:
        place = place[rows.at[place] >= rows.at[place[-_MAX_VALUES]]]
    return place[np.lexsort((rows["total"][place], rows["group"][place], rows.at[place]))][-_MAX_VALUES:]
