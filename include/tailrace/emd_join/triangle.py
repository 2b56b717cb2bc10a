"""The triangle filter: a query's distances bound the distances of a near query (paper 000, section 3.3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


class DistanceBounds(NamedTuple):
    """Lower and upper bounds of the distances of one query to m histograms, shape (m,) each; equal where solved."""

    lower: Reals
    upper: Reals

    def of_next(self, nearest: Reals | float, furthest: Reals | float) -> DistanceBounds:
        """Return the bounds of another query, whose distance to this one lies between `nearest` and `furthest`.

        For a distance d of this query and the distance `apart` of both queries: abs(d − apart) ≤ other distance ≤ d +
        apart.
        """
        return DistanceBounds(np.maximum(self.lower - furthest, nearest - self.upper), self.upper + furthest)
