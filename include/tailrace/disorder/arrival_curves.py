"""Curves of arrival: the tuples of windows that had arrived at each age, and the expected coverage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.disorder.error_model import Floats, Ints

_LINEAR_MS, _STEP_MS, _RATIO, _LONGEST_MS = 20, 2, 1.1, 48 * 3_600_000
_POWERS = np.arange(1, int(np.log(_LONGEST_MS / _LINEAR_MS) / np.log(_RATIO)) + 2)
AGES: Ints = np.concatenate(
    [np.arange(0, _LINEAR_MS + 1, _STEP_MS), np.ceil(_LINEAR_MS * _RATIO**_POWERS).astype(np.int64)]
)
"""Ages of windows in ms, at which curves are stored: 0, 2, …, 20, then each 10 % longer, up to two days; shape (g,)."""

UNIT = 1 << 16
"""The units of `ArrivalCurves.held` in a tuple."""

_COMPLETE = 0.998  # share of tuples: older windows held it at the age at which a window counts as complete
_LOW, _HIGH = 0.1587, 0.8413  # one standard deviation below and above the median of a normal distribution
_OF_MEDIAN = np.pi / 2  # the variance of a median, relative to a mean's


@dataclass(frozen=True)
class CoverageCurves:
    """The expected coverage by age that is in force at each of n ticks.

    Attributes
    ----------
    since : ndarray, shape (k,)
        The index of the tick from which on each curve is in force, ascending from 0.
    coverage : ndarray, shape (k, g)
        The expected share of a window's tuples that have arrived, in (0, 1]; 1 until it is known.
    spread : ndarray, shape (k, g)
        The standard deviation of the share: between windows, beyond sampling, and of its estimate.
    """

    since: Ints
    coverage: Floats
    spread: Floats

    @staticmethod
    def from_curves(curves: list[tuple[int, Floats, Floats]]) -> CoverageCurves:
        since, coverage, spread = zip(*curves, strict=True)
        return CoverageCurves(np.array(since), np.stack(coverage), np.stack(spread))

    def at(self, index: Ints, age: Ints) -> tuple[Floats, Floats]:
        """Return the expected coverage, and its spread, of windows of some ages at the ticks with these indices."""
        curve = np.searchsorted(self.since, index, side="right") - 1
        knot = np.clip(np.searchsorted(AGES, age, side="right") - 1, 0, len(AGES) - 2)
        part = np.clip((age - AGES[knot]) / (AGES[knot + 1] - AGES[knot]), 0.0, 1.0)
        coverage, spread = (
            columns[curve, knot] * (1 - part) + columns[curve, knot + 1] * part
            for columns in (self.coverage, self.spread)
        )
        return coverage, spread

    def from_tick(self, first: int) -> CoverageCurves:
        """Return the curves of the ticks from index `first` on, now counted from there."""
        return CoverageCurves(np.maximum(self.since - first, 0), self.coverage, self.spread)

    def until(self, index: int) -> CoverageCurves:
        """Return the curves; from this index on no tuple is expected to be missing, as the stream is silent or ends."""
        columns = (np.concatenate(parts) for parts in ((self.coverage, _WHOLE), (self.spread, 1 - _WHOLE)))
        return CoverageCurves(np.append(self.since, index), *columns)


_WHOLE = np.ones((1, len(AGES)))

NO_CURVES: CoverageCurves = CoverageCurves(np.zeros(1, np.int64), _WHOLE, 1 - _WHOLE)
"""Curves before anything is known: no tuple is expected to be missing."""


@dataclass(frozen=True)
class ArrivalCurves:
    """The tuples that m windows held at the ages `AGES`, shape (m, g), with the windows' numbers, which ascend.

    They are integers, in units of 1/65,536 tuple, so that sums do not depend on the order of rows.
    """

    number: Ints
    held: Ints

    def add(self, number: Ints, low: Ints, high: Ints, count: Ints) -> ArrivalCurves:
        """Add rows of tuples to windows; each row is spread evenly over the ages from `low` to `high`."""
        share = np.clip((AGES - low[:, None]) / (high - low)[:, None], 0.0, 1.0)
        part = np.rint(share * UNIT).astype(np.int64) * count[:, None]
        numbers = np.concatenate([self.number, number])
        order = np.argsort(numbers, kind="stable")
        first = np.flatnonzero(np.diff(numbers[order], prepend=numbers[order][:1] - 1))
        rows = np.concatenate([self.held, part])[order]
        return ArrivalCurves(numbers[order][first], np.add.reduceat(rows, first) if len(first) else rows)

    @property
    def completion_age(self) -> int:
        """The age (ms) at which the older half of the windows held nearly all of their present tuples."""
        older = self.held[: -(-len(self.held) // 2)].sum(axis=0)
        return int(AGES[np.argmax(older >= _COMPLETE * older[-1])]) if len(older) else 0

    def expected(self, newest: int) -> tuple[Floats, Floats]:
        """Return the median coverage of the newest windows by age, and its spread, see `CoverageCurves`.

        The spread is measured between the quantiles of 16 and 84 %, so that single windows in a burst do not count. The
        variance by sampling, c(1 − c)/n for a window of n tuples, is subtracted, and the variance of the median is
        added.
        """
        held = self.held[-newest:]
        held = held[held[:, -1] > 0]
        share = held / held[:, -1:]
        low, coverage, high = np.quantile(share, [_LOW, 0.5, _HIGH], axis=0)
        variance = ((high - low) / 2) ** 2
        by_sampling = coverage * (1 - coverage) * np.mean(UNIT / held[:, -1])
        spread = np.sqrt(np.maximum(variance - by_sampling, 0) + _OF_MEDIAN * variance / len(held))
        return np.maximum(coverage, 1e-9), spread
