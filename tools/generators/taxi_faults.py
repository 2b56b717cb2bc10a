"""Wrong positions, as in a stream of GPS fixes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_FAR, _ORIGIN, _SWAPPED = range(3)
_SHARES = (0.5, 0.3, 0.2)
_FAR_OFF = (0.5, 20.0)  # degrees of latitude or longitude, at least and at most


def with_outliers(places: Floats, share: float, rng: np.random.Generator) -> Floats:
    """Replace a share of places, drawn one by one, by wrong ones: far off, at 0° 0°, or with swapped digits.

    A longitude with swapped digits is 161.4 in place of 116.4.

    Parameters
    ----------
    places : ndarray, shape (n, 2)
        Longitudes of 110 to 119, but not 111 to 112, and latitudes of -60 to 60 degrees.
    share : float
        0 to 1.
    rng : numpy.random.Generator
        Drawn from equally often whatever the share.

    Returns
    -------
    ndarray, shape (n, 2)
        Longitudes of 90 to 191 and latitudes within ±80 degrees; each replaced place differs from the right one.
    """
    n = len(places)
    is_wrong = rng.random(n) < share
    fault = rng.choice(len(_SHARES), n, p=_SHARES)
    offset = rng.uniform(*_FAR_OFF, places.shape) * rng.choice([-1, 1], places.shape)
    lon, lat = places.T
    tens, units = lon // 10 % 10, lon // 1 % 10
    swapped = np.column_stack([lon + 9 * (units - tens), lat])
    wrong = np.select([fault[:, None] == _FAR, fault[:, None] == _ORIGIN], [places + offset, 0.0], swapped)
    return np.where(is_wrong[:, None], wrong, places)
