"""Feasible solutions of the dual problem of the Earth Mover's Distance, and histograms' keys under them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailrace.emd_join.ground_distance import Costs

Histograms = NDArray[np.float64]
"""The shares of the n bins of m histograms, shape (m, n)."""

Keys = NDArray[np.float64]
"""A number for each of m histograms, shape (m,), in the unit of the ground distance."""


@dataclass(frozen=True, eq=False)
class DualSolution:
    """A feasible solution Z = (Φ, Π) of the dual problem: φ_i + π_j ≤ c_ij for all bins (paper 000, eq. 3).

    So Σ φ_i p_i + Σ π_j q_j is at most EMD(P, Q) for any two histograms.

    Attributes
    ----------
    phi, pi : ndarray, shape (n,)
    """

    phi: NDArray[np.float64]
    pi: NDArray[np.float64]

    @staticmethod
    def from_potential(potential: NDArray[np.float64], costs: Costs) -> DualSolution:
        """Round potentials of the bins, shape (n,), down to a feasible solution.

        The least of φ_j + c_ij over all j differs between two bins by no more than their distance, so Π = −Φ is
        feasible.
        """
        phi = (potential + costs).min(axis=1)
        return DualSolution(phi, -phi)

    @staticmethod
    def from_bin(index: int, costs: Costs) -> DualSolution:
        """Build the solution of the distances from one bin, feasible by the triangle inequality."""
        return DualSolution.from_potential(costs[index], costs)

    def key(self, histograms: Histograms) -> Keys:
        """Return the key Σ φ_i p_i of each histogram P (eq. 4)."""
        return np.asarray(histograms @ self.phi)

    def lower_bound(self, p: Histograms, q: Histograms) -> Keys:
        """Return the lower bound of EMD(P, Q): the key of P plus the counter key Σ π_i q_i of Q.

        Rows are paired by index, or one row is compared with many.
        """
        return np.asarray(self.key(p) + q @ self.pi)
