"""Coverage threshold λ_thr of a promise (error, risk) at each tick, estimated from a query's recent windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.disorder.error_model import Arrays, Floats, Ints, PromisedAnswers
from tailrace.disorder.policy import PolicyState
from tailrace.disorder.quantile.key_sketch import STRETCH, KeySketch
from tailrace.disorder.tick_statistics import TickRows, TickStatistics
from tailrace.ground.arrow.columns import group_sums, pair
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.windows.windows import Windows

SHARE = "share"
"""The name of the latest λ_thr in the state."""

_MAX_WINDOWS, _MAX_VALUES = 512, 2_000  # only the newest values count
_MIN_VALUES = 1_000  # fewer values do not describe a skewed population
_MEASURE_EVERY = 16  # windows between measurements: λ_thr moves slowly, and a measurement takes up to 10 ms


def thresholds(
    stats: TickStatistics, promised: PromisedAnswers, error: float, risk: float, state: PolicyState
) -> tuple[Floats, PolicyState]:
    """Compute λ_thr at each tick, shape (n,), and the state for the next call."""
    population = _RecentWindows.restore(promised, stats.sample, state)
    groups, in_use = KeySketch.restore(stats.windows, state, stats.sample)
    sample = TickRows(stats.sample.at[in_use], {name: column[in_use] for name, column in stats.sample.columns.items()})
    block = stats.windows.block(stats.t_max)
    share, first = np.empty(len(stats)), 0
    while first < len(stats):
        # Each tick has the λ_thr of the tick before, up to one at which it is measured again.
        due = first + int(np.searchsorted(block[first:], population.measured + _MEASURE_EVERY))
        upto = min(due + 1, len(stats))
        population.add(sample.between(first, upto), stats.windows)
        share[first:upto] = population.share
        if due < len(stats) and (measured := population.full_windows(int(block[due]))) is not None:
            population.share = share[due] = promised.threshold(error, risk, *measured)
        first = upto
    return share, population.checkpoint() | groups.checkpoint(population.oldest // STRETCH)


@dataclass
class _RecentWindows:
    """Recent tumbling windows of the query's size; sliding ones would only repeat the same tuples.

    Attributes
    ----------
    promised : PromisedAnswers
        Determines which `sums` and `values` are stored.
    sums : dict of ndarray, shape (m,)
        By window and group: `block` (the window's number), `group`, and the sums over its tuples.
    values : dict of pairs of ndarray, shape (v,)
        The newest values of each column, and their groups.
    share : float
        The latest λ_thr; 1 until the first windows are full.
    measured, oldest : int
        The block before which the latest measurement of λ_thr ends, and the oldest block that is stored.
    """

    promised: PromisedAnswers
    sums: dict[str, NDArray[Any]]
    values: dict[str, tuple[Floats, Ints]]
    share: float
    measured: int
    oldest: int

    @staticmethod
    def restore(promised: PromisedAnswers, sample: TickRows, state: PolicyState) -> _RecentWindows:
        none = {name: column[:0] for name, column in sample.columns.items()}
        none["block"] = none["pane"]
        sums = {name: state.get(f"sum_{name}", none[name]) for name in ("block", "group", *promised.sums)}
        values = {
            name: (state.get(f"value_{name}", none[name]), state.get(f"group_of_{name}", none["group"]))
            for name in promised.values
        }
        places = state.get("measured", BEFORE_ALL), state.get("oldest", BEFORE_ALL)
        return _RecentWindows(promised, sums, values, state.get(SHARE, 1.0), *places)

    def checkpoint(self) -> PolicyState:
        arrays = {f"sum_{name}": column for name, column in self.sums.items()}
        for name, (value, group) in self.values.items():
            arrays |= {f"value_{name}": value, f"group_of_{name}": group}
        return arrays | {SHARE: self.share, "measured": self.measured, "oldest": self.oldest}

    def add(self, rows: TickRows, windows: Windows) -> None:
        """Add the part of the sample that belongs to some ticks."""
        block = windows.block(rows["pane"])
        is_stored = block >= self.oldest  # rows of an older block are no longer complete
        new = {"block": block[is_stored]} | {name: rows[name][is_stored] for name in self.sums if name != "block"}
        columns = {name: np.concatenate([self.sums[name], column]) for name, column in new.items()}
        code, split = pair(columns["block"], columns["group"])
        code, sums = group_sums(code, *(columns[name] for name in self.promised.sums))
        blocks, group = split(code)
        self.sums = {"block": blocks, "group": group} | dict(zip(self.promised.sums, sums, strict=True))
        for name, has_value in self.promised.values.items():
            newest = _newest(rows, name, is_stored & (rows[has_value] == 1))
            added = zip(self.values[name], (rows[name][newest], rows["group"][newest]), strict=True)
            value, value_group = (np.concatenate(parts)[-_MAX_VALUES:] for parts in added)
            self.values[name] = value, value_group

    def full_windows(self, block: int) -> tuple[Arrays, Arrays] | None:
        """Return the sums of the windows before `block`, and values; None if there are no such windows.

        `block` is the block of t_max. It becomes `measured`, and all but the newest windows are dropped.
        """
        is_full = self.sums["block"] < block
        if not is_full.any():
            return None
        values = {name: _relative(*columns) for name, columns in self.values.items()}
        sums = {name: self.sums[name][is_full].astype(float) for name in self.promised.sums}
        self.measured = block
        self.oldest = max(self.oldest, int(self.sums["block"][-_MAX_WINDOWS:][0]))
        keep = self.sums["block"] >= self.oldest
        self.sums = {name: column[keep] for name, column in self.sums.items()}
        return sums, values


def _relative(value: Floats, group: Ints) -> Floats:
    """Divide each value by the mean magnitude of its key's values, as errors are relative, and keys differ in scale.

    Return nothing if there are too few values.
    """
    if len(value) < _MIN_VALUES:
        return np.zeros(0)
    _, code = np.unique(group, return_inverse=True)
    size = np.bincount(code, np.abs(value)) / np.bincount(code)
    return value / np.where(size > 0, size, 1.0)[code]


def _newest(rows: TickRows, name: str, wanted: NDArray[np.bool_]) -> Ints:
    """Return the indices of the newest wanted rows, at most `_MAX_VALUES`, by tick, then group, then value.

    This order makes the choice independent of the cuts into batches.
    """
    index = np.flatnonzero(wanted)
    if len(index) > _MAX_VALUES:
        index = index[rows.at[index] >= rows.at[index[-_MAX_VALUES]]]
    return index[np.lexsort((rows[name][index], rows["group"][index], rows.at[index]))][-_MAX_VALUES:]
