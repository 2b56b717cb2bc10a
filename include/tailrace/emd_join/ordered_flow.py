"""UB_P, an upper bound: the cost of a feasible flow that serves the bins in a fixed order (paper 000, [11]).

On a line, the paper's ground distance, it is the Earth Mover's Distance itself, and accepts pairs without a solver. So
numbers of solves are better compared on a grid or a matrix.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailrace.emd_join.ground_distance import Costs

Rows = NDArray[np.float64]


def between(p: Rows, q: Rows, costs: Costs, order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the cost of moving the mass of each row of `p` to the bins of the same row of `q`, bin by bin in order.

    The flow is feasible, so its cost is at least the distance; on a line, in the line's order, it equals the distance.
    Mass that both have in a bin stays there.

    Parameters
    ----------
    p, q : ndarray, shape (m, n), or (1, n) for all alike
    order : ndarray, shape (n,)
        All bins, near ones side by side.
    """
    common = np.minimum(p, q)
    sent, taken = (np.cumsum((rows - common)[:, order], axis=1) for rows in (p, q))
    ends = np.concatenate([sent, taken], axis=1)
    by_end = np.argsort(ends, axis=1, kind="stable")
    mass = np.diff(np.take_along_axis(ends, by_end, axis=1), axis=1, prepend=0.0)
    is_sent = by_end < sent.shape[1]
    last = sent.shape[1] - 1
    source, target = (np.minimum(np.cumsum(side, axis=1) - side, last) for side in (is_sent, ~is_sent))
    return np.asarray((mass * costs[order[source], order[target]]).sum(axis=1))
