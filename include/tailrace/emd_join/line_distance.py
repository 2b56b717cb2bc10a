"""The Earth Mover's Distance on a line: the L1 distance of the cumulated histograms, and two cheaper lower bounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]
Reals = NDArray[np.float64]

_BLOCK = 16
"""The number of neighbouring bins whose signed differences the coarse bound adds up."""


def cumulated(histograms: Rows, steps: Reals) -> Rows:
    """The cumulated shares of m histograms, each times the step to the next bin: shape (m, n − 1).

    The mass left of a step that one histogram has more than the other must cross it. So the sum of the absolute
    differences of two rows is the distance.
    """
    return np.asarray(np.cumsum(histograms, axis=1)[:, :-1] * steps)


def coarse(rows: Rows) -> Rows:
    """The sums of `_BLOCK` neighbouring columns: the L1 distance of these is at most that of the rows."""
    return np.asarray(np.add.reduceat(rows, np.arange(0, rows.shape[1], _BLOCK), axis=1)) if rows.shape[1] else rows


def between(rows: Rows, others: Rows) -> Reals:
    """The L1 distance of each row and the row of equal index."""
    return np.asarray(np.abs(rows - others).sum(axis=1))
