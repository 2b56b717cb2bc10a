"""The normal lower bound of Head-SJ (paper 000, [12, 18]).

Histograms are approximated by normal distributions along a projection.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf, ndtr, ndtri

from tailrace.emd_join.ground_distance import Costs

Rows = NDArray[np.float64]
Reals = NDArray[np.float64]


class Normals(NamedTuple):
    """The normal distribution of each of m histograms along a projection, shape (m,) each.

    Attributes
    ----------
    mean, deviation : ndarray
        Its mean and standard deviation: a point in the Hough space of lines, as its quantiles are mean + deviation · z.
    error : ndarray
        The Earth Mover's Distance between the projected histogram and this distribution.
    """

    mean: Reals
    deviation: Reals
    error: Reals

    def lower_bound(self, others: Normals) -> Reals:
        """Return a lower bound of the distances: the distance of the normals, less both errors.

        It follows from the triangle inequality.
        """
        apart, wider = np.abs(self.mean - others.mean), np.abs(self.deviation - others.deviation)
        return between_normals(apart, wider) - self.error - others.error


def between_normals(apart: Reals, wider: Reals) -> Reals:
    """Return the Earth Mover's Distance of normal distributions: E abs(apart + wider · Z).

    `apart` is the difference of their means, `wider` of their deviations.
    """
    ratio = np.divide(apart, wider, out=np.full_like(apart, np.inf), where=wider > 0)
    near = np.sqrt(2 / np.pi) * wider * np.exp(-(ratio**2) / 2)
    return np.asarray(apart * erf(ratio / np.sqrt(2)) + near)


def projection(costs: Costs) -> Reals:
    """Project the bins onto a line: to their distances from a far bin.

    No two bins are further apart on the line than in the ground distance.
    """
    return np.asarray(costs[int(costs.sum(axis=1).argmax())])


def moments(histograms: Rows, places: Reals) -> tuple[Reals, Reals]:
    """Return the mean and the deviation of each histogram along the projected bins, shape (m,) each."""
    mean = histograms @ places
    return mean, np.sqrt(np.maximum(histograms @ places**2 - mean**2, 0.0))


def normals_of(histograms: Rows, places: Reals) -> Normals:
    """Return the normal distribution with each histogram's mean and deviation; `places` has the projected bins."""
    mean, deviation = moments(histograms, places)
    order = np.argsort(places, kind="stable")
    return Normals(mean, deviation, _error(histograms[:, order], places[order], mean, deviation))


def _error(histograms: Rows, places: Reals, mean: Reals, deviation: Reals) -> Reals:
    """Return the area between the quantiles of histograms (bins ordered along the line) and of their normals.

    Between the levels a and b, at which the histogram's quantile is x, it is the integral of abs(x − mean − deviation ·
    z), with z between the quantiles of a and b; the sign changes at most once, at x.
    """
    levels = np.clip(np.cumsum(histograms, axis=1), 0.0, 1.0)
    levels[:, -1] = 1.0
    high = ndtri(levels)
    low = np.concatenate([np.full((len(levels), 1), -np.inf), high[:, :-1]], axis=1)
    wide = np.where(deviation > 0, deviation, 1.0)[:, None]
    offset = (places - mean[:, None]) / wide
    turn = np.clip(offset, low, high)
    area = _integral(offset, low, turn) - _integral(offset, turn, high)
    return np.where(deviation > 0, (area * wide).sum(axis=1), 0.0)


def _integral(offset: Rows, low: Rows, high: Rows) -> Rows:
    """Return the integral of (offset − z) φ(z) from low to high, φ being the density of the standard normal."""
    density_low, density_high = (np.exp(-(end**2) / 2) / np.sqrt(2 * np.pi) for end in (low, high))
    return np.asarray(offset * (ndtr(high) - ndtr(low)) - (density_low - density_high))
