"""LB_IM, a lower bound: the Earth Mover's Distance where each bin chooses its flow independently (paper 000, [25])."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tailrace.emd_join.ground_distance import Costs

Rows = NDArray[np.float64]
Reals = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class IndependentMinimisation:
    """The bound LB_IM: each bin sends its mass to the nearest bins, at most the demand to each.

    It drops one side of the constraints (two bins together may exceed the demand of a third), so it is at most the
    distance. Mass that both histograms have in a bin need not move, and is left out.
    """

    costs: Costs

    @cached_property
    def _nearest(self) -> tuple[NDArray[np.int64], Costs]:
        """For each bin, all bins by distance, and the difference of each distance from the one before."""
        order = np.argsort(self.costs, axis=1, kind="stable")
        return order, np.diff(np.take_along_axis(self.costs, order, axis=1), axis=1)

    def between(self, p: Rows, q: Rows, enough: float = np.inf) -> Reals:
        """Return the bound for each row of `p` and the row of `q` with equal index, of shape (m, n), or (1, n) for all.

        Parameters
        ----------
        enough : float
            A bound above this value already rejects, so it may be lower than LB_IM, but not below this value.
        """
        common = np.minimum(p, q)
        p, q = p - common, q - common
        bound = self._sent(p, q, enough)
        left = np.flatnonzero(bound <= enough)
        bound[left] = np.maximum(bound[left], self._sent(q[left], p[left], enough))
        return bound

    def _sent(self, p: Rows, q: Rows, enough: float) -> Reals:
        """Return the cost at which the bins of `p` send their mass independently.

        Mass pays for each step away from its bin; mass beyond the demand of the k nearest bins goes on to the next. So
        the cost grows from step to step. Rows whose cost exceeds `enough`, or whose mass has all arrived, need no more
        steps.
        """
        order, steps = self._nearest
        bins = np.flatnonzero(p.any(axis=0))
        cost, rows = np.zeros(len(p)), np.arange(len(p))
        unsent, room = np.ascontiguousarray(p.T[bins]), np.ascontiguousarray(q.T)
        for step in range(len(order) - 1):
            cost[rows] += steps[bins, step] @ unsent
            unsent -= room[order[bins, step + 1]]
            np.maximum(unsent, 0.0, out=unsent)
            kept = np.flatnonzero((cost[rows] <= enough) & unsent.any(axis=0))
            if not len(kept):
                break
            if 2 * len(kept) < len(rows):
                rows, unsent, room = rows[kept], unsent[:, kept], room[:, kept]
        return cost
