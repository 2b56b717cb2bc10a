"""How late tuples are among contemporaries: their cumulative hazard, −ln of the share with longer delays.

Delays change along a stream, while the rank of a delay among its contemporaries does not depend on their scale. Of
any tuples the mean cumulative hazard is 1 by construction; it is greater for a set of tuples that come later than
others do. By ranks these are Savage's scores, with weights the estimate of Nelson and Aalen [1]_.

References
----------
.. [1] Aalen. Nonparametric inference for a family of counting processes. Annals of Statistics 6(4), 1978.
"""

from __future__ import annotations

import numpy as np

from tailrace.ground.columns import Floats, Ints

CONTEMPORARIES = 200
"""The number of tuples of neighbouring event times that are compared with each other."""


def cumulative_hazards(event: Ints, delay: Ints, weight: Floats, size: int = CONTEMPORARIES) -> Floats:
    """Return the cumulative hazard of each tuple's delay among its contemporaries, shape (n,).

    Tuples of equal delays share the mean of their hazards.

    Parameters
    ----------
    event, delay, weight : ndarray, shape (n,)
        Weights are positive.
    size : int
        The least number of tuples that are compared with each other; fewer only where there are no more.
    """
    n = len(event)
    if not n:
        return np.zeros(0)
    group = np.empty(n, np.int64)
    group[np.argsort(event, kind="stable")] = np.minimum(np.arange(n) // size, max(n // size - 1, 0))
    order = np.lexsort((delay, group))
    group, delay, weight = group[order], delay[order], weight[order]
    first = np.flatnonzero(np.diff(group, prepend=-1))
    at_risk = _sums_from(weight, first, np.diff(first, append=n))
    hazard = np.cumsum(weight / at_risk)
    hazard -= np.repeat(hazard[first] - weight[first] / at_risk[first], np.diff(first, append=n))
    tie = np.flatnonzero((np.diff(group, prepend=-1) != 0) | (np.diff(delay, prepend=-1) != 0))
    mean = np.add.reduceat(hazard * weight, tie) / np.add.reduceat(weight, tie)
    result = np.empty(n)
    result[order] = np.repeat(mean, np.diff(tie, append=n))
    return result


def _sums_from(weight: Floats, first: Ints, counts: Ints) -> Floats:
    """Return the sum of the weights from each row to the end of its group; groups begin at `first`."""
    before = np.cumsum(weight) - weight
    total = np.add.reduceat(weight, first)
    return np.asarray(np.maximum(np.repeat(before[first] + total, counts) - before, weight))
