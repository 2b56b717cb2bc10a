"""The triangle filter: the distances of a query bound those of one near it (paper 000, section 3.3)."""

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
        """The bounds of another query, whose distance to this one lies between `nearest` and `furthest`.

        For a distance d of this query and the distance `apart` of both: abs(d − apart) ≤ that of the other ≤ d + apart.
        """
        return DistanceBounds(np.maximum(self.lower - furthest, nearest - self.upper), self.upper + furthest)
