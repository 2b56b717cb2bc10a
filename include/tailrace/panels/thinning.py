"""Thins long series for a chart: points represent their neighbours, and extremes remain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import Ints

MOST_POINTS = 600
"""The approximate number of points of a page's series."""


def extremes(columns: Sequence[NDArray[np.float64]], most: int = MOST_POINTS) -> Ints:
    """Return the indices, ascending, of some of n points: for each stretch, the least and the greatest of each column.

    The first and the last point are included. NaN is not an extreme.
    """
    count = len(columns[0]) if columns else 0
    if count <= most:
        return np.arange(count)
    kept = {0, count - 1}
    for stretch in np.array_split(np.arange(count), max(most // (2 * len(columns)), 1)):
        for column in columns:
            known = stretch[~np.isnan(column[stretch])]
            if len(known):
                kept |= {int(known[column[known].argmin()]), int(known[column[known].argmax()])}
    return np.array(sorted(kept), np.int64)
