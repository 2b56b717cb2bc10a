"""Measured statistics of the values in a query's windows, which determine the coverage that a promise needs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tailrace.ground.columns import Floats

_NOISE = 1e-12  # a smaller cv² may come from the rounding of sums alone


@dataclass(frozen=True)
class Population:
    """The windows of a query: their size, the variation of their values, and a sample of the values.

    Attributes
    ----------
    tuples : float
        n, the number of tuples in a window of a key, at least 1. Over unlike windows it is the harmonic mean, because
        variances fall with 1/n.
    variation : float
        cv = σ/|µ| of the values of a window (σ² with the divisor n), at least 0, inf where µ is 0. Over unlike windows
        it is the root mean square, with which the bounds of SUM and AVG hold whatever the windows' values are. The cv
        of the values of all windows together is larger where the levels of windows differ, so it is on the safe side.
    sample : tuple of float
        Values, drawn with equal probability from all windows, in any order; 1,000 are better than 100. Where the levels
        of keys differ, each is divided by the mean size of its key's values. Empty where no values are available: SUM
        and AVG then wait longer, and MEDIAN and QUANTILE for whole windows.
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
            n ≥ 1, Σv and Σv² of each window. Where Σv is 0 it is replaced by 1, because errors are absolute there.
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

        Empty where that is undefined. A sample seldom contains the largest values of a skewed population; the cv,
        measured on many more values, includes them.
        """
        if not self.sample or not np.isfinite(self.variation):
            return np.zeros(0)
        with np.errstate(all="ignore"):
            deviation = self.ordered / self.ordered.mean() - 1
            spread = np.sqrt(np.mean(deviation**2))
            deviation = deviation * np.maximum(1.0, self.variation / spread) if self.variation else deviation
        values: Floats = 1 + deviation if np.isfinite(deviation).all() and np.isfinite(spread) else np.zeros(0)
        return values
