"""Locality: dual solutions and distances of earlier queries filter the candidates of the next (section 3.3)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from tailrace.emd_join.dual_solution import DualSolution
from tailrace.emd_join.search import Ints, Reals, Rows
from tailrace.emd_join.triangle import DistanceBounds

_RECENT = 16
"""The number of newest dual solutions that filter candidates."""


@dataclass(eq=False)
class Locality:
    """The newest dual solutions, and the bounds of the previous query's distances.

    Attributes
    ----------
    query : ndarray, shape (n,), or None
        The previous query.
    """

    size: int
    query: Rows | None = None
    _duals: deque[Reals] = field(default_factory=lambda: deque(maxlen=_RECENT))
    _rows: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    _bounds: DistanceBounds = field(init=False)

    def __post_init__(self) -> None:
        self._bounds = DistanceBounds(np.zeros(self.size), np.full(self.size, np.inf))

    def add(self, dual: DualSolution) -> None:
        """Store a dual solution, and drop the oldest one."""
        self._duals.append(dual.phi)

    def feasible_bound(self, query: Rows, rows: Rows) -> Reals:
        """Return the greatest lower bound that the dual solutions give for the distances to histograms, shape (m,)."""
        if not self._duals:
            return np.zeros(len(rows))
        phi = np.stack(self._duals, axis=1)
        return np.asarray(np.abs(rows @ phi - query @ phi).max(axis=1))

    def known(self, rows: Ints) -> DistanceBounds:
        """Return the bounds of the previous query's distances to some targets; 0 and infinity where unknown."""
        return DistanceBounds(self._bounds.lower[rows], self._bounds.upper[rows])

    def succeed(self, query: Rows, rows: Ints, bounds: DistanceBounds) -> None:
        """Replace the previous query by a query, with the bounds of its distances to some targets."""
        self._bounds.lower[self._rows], self._bounds.upper[self._rows] = 0.0, np.inf
        self._bounds.lower[rows], self._bounds.upper[rows] = bounds
        self.query, self._rows = query, rows
