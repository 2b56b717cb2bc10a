"""Quantiles of the values of many windows at once."""

from __future__ import annotations

import numpy as np

from tailrace.ground.value_column import Floats, Ints


def quantiles(tuples: Ints, values: Floats, q: float) -> Floats:
    """Return the q-quantile of each window, by linear interpolation at position q · (tuples − 1).

    This is definition 7 of Hyndman & Fan, Sample Quantiles in Statistical Packages, The American Statistician 50, 1996,
    and the default of numpy and R.

    Parameters
    ----------
    tuples : ndarray, shape (m,)
        The number of values of each window, at least 1.
    values : ndarray, shape (Σ tuples,)
        Finite; the values of all windows in turn, ascending in each.
    q : float
        In [0, 1].

    Returns
    -------
    ndarray, shape (m,)
        Each lies between the two values next to its position, even where their difference overflows a double.
    """
    index = (tuples - 1) * q
    below, start = np.floor(index), np.cumsum(tuples) - tuples
    low, high = (values[start + neighbour.astype(np.int64)] for neighbour in (below, np.ceil(index)))
    share = index - below
    # low + (high − low) · share could overflow in the difference. The result is clipped, as rounding may leave the
    # range [low, high].
    quantile: Floats = np.clip(low * (1 - share) + high * share, low, high)
    return quantile
