"""The Earth Mover's Distance on a line, the L1 distance of cumulated histograms, and two cheaper lower bounds."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]
Reals = NDArray[np.float64]

_BLOCK = 16
"""The number of neighbouring bins whose signed differences the coarse bound adds up."""


def centroids(histograms: Rows, steps: Reals) -> Reals:
    """Return the mean position of each of m histograms, shape (m,); two of them differ by no more than the distance."""
    return np.asarray(histograms @ np.concatenate([[0.0], np.cumsum(steps)]))


def cumulated(histograms: Rows, steps: Reals) -> Rows:
    """Return the cumulated shares of m histograms, each times the step to the next bin: shape (m, n − 1).

    The surplus mass of one histogram to the left of a step must cross it. So the sum of the absolute differences of two
    rows is the distance.
    """
    return np.asarray(np.cumsum(histograms, axis=1)[:, :-1] * steps)


def coarse(rows: Rows) -> Rows:
    """Return the sums of `_BLOCK` neighbouring columns; their L1 distance is at most the rows' distance."""
    return np.asarray(np.add.reduceat(rows, np.arange(0, rows.shape[1], _BLOCK), axis=1)) if rows.shape[1] else rows


def between(rows: Rows, others: Rows) -> Rows:
    """Return the L1 distance of each of m rows to each of k others, shape (m, k).

    The order of summation is deterministic.
    """
    from scipy.spatial.distance import cdist  # noqa: PLC0415

    if not rows.shape[1]:
        return np.zeros((len(rows), len(others)))
    return np.asarray(cdist(rows, others, "cityblock"))
