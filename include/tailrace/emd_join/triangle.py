"""The triangle filter: what a query's distances tell of the next one's, when both are near (paper 000, section 3.3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Bounds(NamedTuple):
    """Lower and upper bounds of the distances of one query to m histograms, shape (m,) each; equal where solved."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    def of_next(self, apart: float) -> Bounds:
        """The bounds of a query at the distance `apart` from this one: abs(d − apart) ≤ the distance ≤ d + apart."""
        return Bounds(np.maximum(self.lower - apart, apart - self.upper), self.upper + apart)

    def tightened(self, lower: NDArray[np.float64], upper: NDArray[np.float64]) -> Bounds:
        """The tighter of these bounds and others."""
        return Bounds(np.maximum(self.lower, lower), np.minimum(self.upper, upper))
