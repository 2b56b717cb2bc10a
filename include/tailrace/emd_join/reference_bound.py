"""The reference upper bound of Head-SJ: the way over a histogram with all its mass in one bin (paper 000, [18])."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailrace.emd_join.ground_distance import Costs

Rows = NDArray[np.float64]


def between(p: Rows, q: Rows, costs: Costs) -> NDArray[np.float64]:
    """The bound for each row of `p` and the row of equal index of `q`, of shape (m, n), or (1, n) for all alike.

    All mass of P has one way into a bin b, at the cost Σ p_i c_ib, and one way from there to Q. The bound is the least
    sum of both over all bins.
    """
    return np.asarray((p @ costs + q @ costs).min(axis=1))
