"""The winners' hazard ratio γ: a winner is delayed by at least d with the probability S(d)^γ.

γ = 1 if scores and delays are independent, and less than 1 if winners come later than their contemporaries. It is
1 / the mean cumulative hazard, as for the rate of an exponential distribution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.calibration.two_scales.blocks import FEWEST, SIGNIFICANT, SURE, exceeds, means, pretest_share
from tailrace.ground.arrow.columns import Floats


@dataclass(frozen=True, eq=False)
class HazardRatio:
    """The hazard ratio of the winners of n windows.

    Attributes
    ----------
    hazard : ndarray, shape (n,)
        The mean cumulative hazard of each window's winners.
    block : int
        The number of neighbouring windows that count as one observation.
    """

    hazard: Floats
    block: int

    @property
    def measured(self) -> float:
        """γ as it is measured."""
        return 1 / float(self.hazard.mean())

    @property
    def is_significant(self) -> bool:
        """Whether the mean hazard differs from 1 by more than its error allows."""
        return exceeds(self.hazard - 1, self.block, self._needed)

    @property
    def _needed(self) -> float:
        return SIGNIFICANT if len(self.hazard) // self.block >= FEWEST else SURE

    @property
    def value(self) -> float:
        """γ; 1 unless the measured value differs significantly."""
        return self.measured if self.is_significant else 1.0

    def resampled(self, rows: int, rng: np.random.Generator) -> Floats:
        """Return γ of `rows` resamples of the blocks, shape (rows,).

        A γ that counts as 1 varies, too, since it might have been found significant.
        """
        each = means(self.hazard, self.block)
        if not len(each):
            return np.full(rows, self.value)
        drawn = each[rng.integers(len(each), size=(rows, len(each)))].mean(axis=1) - each.mean()
        return np.asarray(
            1 / (self.hazard.mean() + drawn if self.is_significant else 1 + pretest_share(self._needed) * drawn)
        )
