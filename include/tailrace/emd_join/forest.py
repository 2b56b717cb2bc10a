"""The forest: feasible dual solutions of a query, each of which gives a histogram a key (paper 000, [13])."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tailrace.emd_join.dual_solution import DualSolution
from tailrace.emd_join.ground_distance import Costs

Rows = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Forest:
    """Some feasible dual solutions (Φ, −Φ): the keys of two histograms differ by no more than their distance.

    Attributes
    ----------
    solutions : tuple of DualSolution
        At least one. The first gives the key by which histograms are sorted and partitioned.
    """

    solutions: tuple[DualSolution, ...]

    @staticmethod
    def of_bins(costs: Costs, count: int) -> Forest:
        """Build a forest whose keys are distances from `count` bins far from each other; it needs no sample."""
        return Forest(tuple(DualSolution.from_bin(int(index), costs) for index in far_bins(costs, count)))

    @cached_property
    def _phi(self) -> Rows:
        return np.stack([solution.phi for solution in self.solutions], axis=1)

    def keys(self, shares: Rows) -> Rows:
        """Return the keys of m histograms, shape (m, z)."""
        return np.asarray(shares @ self._phi)


def far_bins(costs: Costs, count: int) -> Ints:
    """Return bins far from each other: first the furthest from all bins, then each time the furthest from these."""
    bins = [int(costs.sum(axis=1).argmax())]
    while len(bins) < min(count, len(costs)):
        bins.append(int(costs[bins].min(axis=0).argmax()))
    return np.array(bins)
