"""The reference upper bound of Head-SJ: the distance through a reference histogram (paper 000, [18])."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailrace.emd_join import line_distance
from tailrace.emd_join.exact import solve
from tailrace.emd_join.ground_distance import Costs, is_line

Rows = NDArray[np.float64]


def between(p: Rows, q: Rows, costs: Costs) -> NDArray[np.float64]:
    """Return the bound for each row of `p` and the row of `q` with equal index, of shape (m, n), or (1, n) for all.

    The references are the histograms of a single bin. All mass of P can move to a bin b at the cost Σ p_i c_ib, and
    from there to Q. The bound is the least sum of both costs over all bins. References drawn from the data give better
    bounds.
    """
    return np.asarray((p @ costs + q @ costs).min(axis=1))


def distances(histograms: Rows, references: Rows, costs: Costs) -> Rows:
    """Return the distances of m histograms to r references, shape (m, r): on a line in closed form, else solved.

    By the triangle inequality, the sum of two histograms' distances to a reference is at least their own distance.
    """
    if is_line(costs):
        steps = np.diagonal(costs, offset=1)
        return line_distance.between(*(line_distance.cumulated(rows, steps) for rows in (histograms, references)))
    solved = [[solve(one, other, costs).distance for other in references] for one in histograms]
    return np.array(solved, np.float64).reshape(len(histograms), len(references))
