"""The filter chain of a query histogram over candidates: from cheap bounds to exact distances (paper 000, Fig. 3)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tailrace.emd_join import ordered_flow
from tailrace.emd_join.dual_solution import DualSolution
from tailrace.emd_join.exact import Solved, solve
from tailrace.emd_join.ground_distance import Costs
from tailrace.emd_join.independent_minimisation import IndependentMinimisation
from tailrace.emd_join.triangle import Bounds

Rows = NDArray[np.float64]
Ints = NDArray[np.int64]

TOLERANCE = 1e-9
"""How much a distance may be over the threshold: sums of doubles in another order differ by less."""

_RECENT = 4
"""The number of dual solutions of earlier queries by which a query's candidates are filtered."""


@dataclass(frozen=True, eq=False)
class Chain:
    """The chain of EMD-DDSJ: new feasible solutions, LB_IM, UB_P, the triangle inequality, and the exact distance.

    Attributes
    ----------
    threshold : float
        θ, in the unit of the ground distance.
    order : ndarray, shape (n,)
        All bins, near ones side by side: in it UB_P serves them.
    exact : bool
        Whether the distance of each pair is wanted. If not, an upper bound within the threshold accepts a pair unsolved.
    """

    costs: Costs
    threshold: float
    order: Ints
    exact: bool = True
    filters: frozenset[str] = frozenset({"feasible", "independent", "flow", "triangle"})

    def start(self) -> Locality:
        """What the first of some neighbouring queries knows of earlier ones: nothing."""
        return Locality(self, IndependentMinimisation(self.costs))


@dataclass(eq=False)
class Locality:
    """What queries leave to their successors: dual solutions, and the bounds of the last one's distances.

    Attributes
    ----------
    counts : Counter
        How many pairs each filter rejected or accepted, and how many were solved.
    """

    chain: Chain
    independent: IndependentMinimisation
    duals: list[DualSolution] = field(default_factory=list)
    last: tuple[Rows, Bounds] | None = None
    counts: Counter[str] = field(default_factory=Counter)

    def search(self, query: Rows, targets: Rows, candidates: Ints) -> tuple[Ints, Rows]:
        """The candidates within the threshold of a query, and their distances; NaN where one was not wanted.

        Parameters
        ----------
        query : ndarray, shape (n,)
        targets : ndarray, shape (m, n)
            All histograms; those of the query before, so that its distances tell of this one's.
        candidates : ndarray of int
            The rows of `targets` that are left by the range search.
        """
        chain, left = self.chain, candidates
        lower, upper = np.zeros(len(targets)), np.full(len(targets), np.inf)
        found = np.zeros(len(targets), bool)
        if "feasible" in chain.filters and self.duals:
            lower[left] = np.max([dual.lower_bound(query, targets[left]) for dual in self.duals], axis=0, initial=0.0)
            left = self._reject("feasible", left, lower)
        if "independent" in chain.filters:
            lower[left] = np.maximum(lower[left], self.independent.between(query[None], targets[left]))
            left = self._reject("independent", left, lower)
        if "flow" in chain.filters and not chain.exact:
            upper[left] = ordered_flow.between(query[None], targets[left], chain.costs, chain.order)
            left = self._accept("flow", left, upper, found)
        if "triangle" in chain.filters and self.last is not None and len(left) > 1:
            before, bounds = self.last
            of_this = bounds.of_next(self._solved(query, before).distance)
            lower[left], upper[left] = (np.asarray(side)[left] for side in of_this.tightened(lower, upper))
            left = self._reject("triangle", left, lower)
            left = left if chain.exact else self._accept("triangle", left, upper, found)
        self._solve(query, targets, left, lower, upper)
        self.last = query, Bounds(lower, upper)
        found |= (lower == upper) & (upper <= chain.threshold + TOLERANCE)
        rows = np.flatnonzero(found)
        return rows, upper[rows] if chain.exact else np.full(len(rows), np.nan)

    def _solve(self, query: Rows, targets: Rows, left: Ints, lower: Rows, upper: Rows) -> None:
        """Solve what is left, the nearest by their bounds first; each dual solution may spare others."""
        left = left[np.argsort(lower[left], kind="stable")]
        while len(left):
            row, left = left[0], left[1:]
            solved = self._solved(query, targets[row])
            lower[row] = upper[row] = solved.distance
            self.duals = [solved.dual, *self.duals[: _RECENT - 1]]
            if "feasible" in self.chain.filters and len(left):
                lower[left] = np.maximum(lower[left], solved.dual.lower_bound(query, targets[left]))
                left = self._reject("feasible", left, lower)

    def _solved(self, p: Rows, q: Rows) -> Solved:
        self.counts["exact"] += 1
        return solve(p, q, self.chain.costs)

    def _reject(self, name: str, left: Ints, lower: Rows) -> Ints:
        """Leave out what a lower bound shows to be too far."""
        kept = left[lower[left] <= self.chain.threshold + 2 * TOLERANCE]
        self.counts[f"rejected by {name}"] += len(left) - len(kept)
        return kept

    def _accept(self, name: str, left: Ints, upper: Rows, found: NDArray[np.bool_]) -> Ints:
        """Take what an upper bound shows to be near enough."""
        near = upper[left] <= self.chain.threshold
        found[left[near]] = True
        self.counts[f"accepted by {name}"] += int(near.sum())
        return left[~near]
