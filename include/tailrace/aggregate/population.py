"""What is known of the values of a query's windows: what a promise's coverage depends on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_NOISE = 1e-12  # cv² that may be but the rounding of sums


@dataclass(frozen=True)
class Population:
    """The windows of a query, as measured.

    Attributes
    ----------
    tuples : float
        n, how many tuples a window of a key holds, at least 1. Variances fall with 1/n, so of unlike windows it is the
        harmonic mean.
    variation : float
        cv = σ/|µ| of the values of a window (σ² with the divisor n), at least 0, inf where µ is 0. Of unlike windows it
        is the root mean square, which makes the bounds of SUM and AVG hold whatever the windows' values are. That of
        the values of all windows together is larger where their levels differ, so it is on the safe side.
    sample : tuple of float
        Values, drawn alike from all windows, in any order; better 1,000 than 100; over the mean size of their
        key's where levels differ. Empty where none are kept: SUM and AVG then wait longer, and MEDIAN and QUANTILE for
        whole windows.
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
    def of(tuples: Floats, total: Floats, squares: Floats, sample: tuple[float, ...] = ()) -> Population:
        """The population that m windows come from, by their sums.

        Parameters
        ----------
        tuples, total, squares : ndarray, shape (m,), m ≥ 1
            n ≥ 1, Σv and Σv² of each window. Where Σv is 0 errors are absolute ones, so that 1 stands for it.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            spread = np.maximum(squares - total**2 / tuples, 0) * tuples  # n² σ²
            relative = spread / np.where(total == 0, 1.0, total) ** 2
            relative[relative < _NOISE] = 0.0
        variation = float(np.sqrt(np.mean(np.where(np.isnan(relative), np.inf, relative))))  # nan: beyond all doubles
        return Population(1 / float(np.mean(1 / tuples)), variation, sample)

    @cached_property
    def ordered(self) -> Floats:
        """The sample, ascending; shape (s,)."""
        return np.sort(np.asarray(self.sample, float))

    @cached_property
    def relative(self) -> Floats:
        """The sample over its mean, shape (s,), stretched about 1 to cv where it varies less; empty where it can't be.

        A sample seldom has the largest values of a skewed population. cv, measured from many more, knows of them.
        """
        if not self.sample or not np.isfinite(self.variation):
            return np.zeros(0)
        with np.errstate(all="ignore"):
            away = self.ordered / self.ordered.mean() - 1
            spread = np.sqrt(np.mean(away**2))
            away = away * np.maximum(1.0, self.variation / spread) if self.variation else away
        known: Floats = 1 + away if np.isfinite(away).all() and np.isfinite(spread) else np.zeros(0)
        return known
