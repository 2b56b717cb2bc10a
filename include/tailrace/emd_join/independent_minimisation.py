"""LB_IM, a lower bound: the Earth Mover's Distance where each bin may choose its way for itself (paper 000, [25])."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tailrace.emd_join.ground_distance import Costs

Rows = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class IndependentMinimisation:
    """The bound LB_IM: a bin sends its mass to the nearest bins, to each no more than that one takes in.

    It drops one side of the constraints, so it is at most the distance: what two bins send to a third may be more than
    this takes in. The mass that both histograms have in a bin is left out, as it need not move.
    """

    costs: Costs

    @cached_property
    def _nearest(self) -> tuple[NDArray[np.int64], Costs]:
        """For each bin all bins by their distance, and these distances; shape (n, n) each."""
        order = np.argsort(self.costs, axis=1, kind="stable")
        return order, np.take_along_axis(self.costs, order, axis=1)

    def between(self, p: Rows, q: Rows) -> NDArray[np.float64]:
        """The bound for each row of `p` and the row of equal index of `q`, of shape (m, n), or (1, n) for all alike."""
        common = np.minimum(p, q)
        p, q = p - common, q - common
        return np.maximum(self._sent(p, q), self._sent(q, p))

    def _sent(self, p: Rows, q: Rows) -> NDArray[np.float64]:
        """The cost at which the bins of `p` send their mass, each for itself."""
        order, costs = self._nearest
        total = np.zeros(len(p))
        for index in np.flatnonzero(p.any(axis=0)):
            rows = np.flatnonzero(p[:, index])
            reached = np.minimum(np.cumsum(q[rows][:, order[index]], axis=1), p[rows, index, None])
            # Mass that goes k bins far pays the k-th distance: the sum by parts needs only how much stays within each.
            total[rows] += (np.diff(reached, axis=1, prepend=0.0) * costs[index]).sum(axis=1)
        return total
