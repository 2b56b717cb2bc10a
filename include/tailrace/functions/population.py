"""Measured statistics of the values in a query's windows, which determine the coverage that a promise needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tailrace.ground.arrow.columns import Floats

_NOISE = 1e-12  # a smaller cv² may only come from rounding


@dataclass(frozen=True)
class Population:
    """The windows of a query: their size, the variation of their values, and a sample of the values.

    Attributes
    ----------
    tuples : float
        n, the number of tuples in a window of a key, at least 1. For unequal windows it is the harmonic mean, because
        variances fall with 1/n.
    variation : float
        cv = σ/|µ| of the values of a window (σ² with the divisor n), at least 0, inf if µ is 0. For unequal windows it
        is the root mean square, with which the bounds of SUM and AVG hold for any values. The cv over all windows
        together is larger if the levels of windows differ, so it is safe.
    sample : tuple of float
        Values, drawn with equal probability from all windows, in any order; 1,000 are better than 100. If the levels of
        keys differ, each is divided by the mean magnitude of its key's values. Empty if no values are available: then
        SUM and AVG wait longer, and MEDIAN and QUANTILE wait for whole windows.
    """

    tuples: float
    variation: float
    sample: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.tuples >= 1:
            raise ValueError(f"a window holds at least 1 tuple, not {self.tuples}")
        if not self.variation >= 0:
            raise ValueError(f"the coefficient of variation is at least 0, not {self.variation}")

    @staticmethod
    def estimate(tuples: Floats, total: Floats, squares: Floats, sample: tuple[float, ...] = ()) -> Population:
        """Estimate the population of m windows from their sums.

        Parameters
        ----------
        tuples, total, squares : ndarray, shape (m,), m ≥ 1
            n ≥ 1, Σv and Σv² of each window. A Σv of 0 is replaced by 1, because errors are then absolute.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            spread = np.maximum(squares - total**2 / tuples, 0) * tuples  # n² σ²
            relative = spread / np.where(total == 0, 1.0, total) ** 2
            relative[relative < _NOISE] = 0.0
        variation = float(np.sqrt(np.mean(np.where(np.isnan(relative), np.inf, relative))))  # NaN: sums overflowed
        return Population(1 / float(np.mean(1 / tuples)), variation, sample)

    @cached_property
    def ordered(self) -> Floats:
        """The sample, ascending; shape (s,)."""
        return np.sort(np.asarray(self.sample, float))

    @cached_property
    def relative(self) -> Floats:
        """The sample divided by its mean, shape (s,); deviations from 1 are scaled up to cv if they are smaller.

        It is empty if that is undefined. A sample seldom contains the largest values of a skewed population, but the
        cv, measured on many more values, includes them.
        """
        if not self.sample or not np.isfinite(self.variation):
            return np.zeros(0)
        with np.errstate(all="ignore"):
            deviation = self.ordered / self.ordered.mean() - 1
            spread = np.sqrt(np.mean(deviation**2))
            deviation = deviation * np.maximum(1.0, self.variation / spread) if self.variation else deviation
        values: Floats = 1 + deviation if np.isfinite(deviation).all() and np.isfinite(spread) else np.zeros(0)
        return values
