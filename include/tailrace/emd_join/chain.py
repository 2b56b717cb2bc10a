"""The search of EMD-DDSJ and ShuffleJ: a range search, then a chain of filters, then exact distances (paper 000)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from tailrace.emd_join import ordered_flow
from tailrace.emd_join.candidates import Candidates
from tailrace.emd_join.dual_solution import DualSolution
from tailrace.emd_join.exact import Solved, solve
from tailrace.emd_join.forest import Forest
from tailrace.emd_join.ground_distance import Costs
from tailrace.emd_join.independent_minimisation import IndependentMinimisation
from tailrace.emd_join.range_search import RangeSearch
from tailrace.emd_join.results import FoundBuilder
from tailrace.emd_join.search import Found, HistogramColumns, Ints, Reals, Rows, Values, margin_of
from tailrace.emd_join.tour import tour_of_bins, tour_of_keys
from tailrace.emd_join.triangle import DistanceBounds

ORDER = ("range", "triangle", "feasible", "flow", "independent")
"""The filters in the order in which a query's candidates first meet them."""

FILTERS = frozenset(ORDER)

_WORTH = 3
"""The distance of two queries is computed if it may decide more candidates than this, as it seldom decides all."""


@dataclass(frozen=True, eq=False)
class ChainSearch:
    """The search by the forest's keys and the chain of filters: triangle, feasible solutions, UB_P, LB_IM (Fig. 3).

    Queries are processed in the order of a tour of their keys, as neighbours in key tend to be near: only a near
    query's dual solutions give tight bounds, and only its distances decide by the triangle inequality. No locality
    outlives a call, so the counts are a function of the columns.

    Unlike in the paper, the triangle filter is applied twice: first at no cost, with bounds of the distance of both
    queries, then with that distance if it may decide enough. UB_P comes before LB_IM, which costs most for near pairs;
    LB_IM can't reject a pair that UB_P accepts. On a line UB_P is the distance itself (`ordered_flow`). Then, if
    distances are not wanted, it accepts every pair, and the solver only gets candidates that are no pairs.

    Attributes
    ----------
    threshold : float
        θ, in the unit of the ground distance.
    exact : bool
        Whether each pair's distance is computed. If not, upper bounds accept pairs, and all distances are NaN.
    """

    costs: Costs
    threshold: float
    forest: Forest
    exact: bool = True
    filters: frozenset[str] = FILTERS

    by_part: ClassVar[bool] = False

    def derived(self, shares: Rows) -> Values:
        """Return the columns `keys`, under the forest, and `rows`, the shares."""
        return {"keys": self.forest.keys(shares), "rows": shares}

    def find(self, queries: HistogramColumns, targets: HistogramColumns, reach_ms: int) -> Found:
        """Find the pairs with event times at most `reach_ms` apart and distances up to the threshold + TOLERANCE."""
        builder = FoundBuilder.empty(queries, targets, reach_ms, self.filters)
        width = self.threshold + self._margin if "range" in self.filters else np.inf
        in_range = RangeSearch(targets, width, reach_ms)
        locality = Locality(len(targets))
        tour = tour_of_keys(queries.keys)
        builder.cost.begin()
        for row in tour:
            rows = in_range.candidates(queries.keys[row], int(queries.times[row]))
            candidates = Candidates(rows, self.threshold, self._margin, builder.counts)
            if len(candidates.rows):
                self._decide(queries.rows[row], targets.rows, candidates, locality)
            builder.add(int(row), candidates)
        return builder.result(self.exact)

    def _decide(self, query: Rows, targets: Rows, candidates: Candidates, locality: Locality) -> None:
        """Decide all candidates of a query, by the cheapest means first."""
        before = locality.query if "triangle" in self.filters else None
        nearest = 0.0
        if before is not None:
            nearest = float(locality.feasible_bound(query, before[None])[0])
            furthest = float(ordered_flow.between(query[None], before[None], self.costs, self._tour)[0])
            self._triangle(candidates, locality, nearest, furthest)
        if "feasible" in self.filters:
            candidates.reject("feasible", locality.feasible_bound(query, targets[candidates.open_rows]))
        if "flow" in self.filters and not self.exact:
            rows = targets[candidates.open_rows]
            candidates.accept("flow", ordered_flow.between(query[None], rows, self.costs, self._tour))
        if "independent" in self.filters:
            rows = targets[candidates.open_rows]
            enough = self.threshold + self._margin
            candidates.reject("independent", self._independent.between(query[None], rows, enough))
        if before is not None and self._decidable(candidates, locality, nearest) > _WORTH:
            candidates.counts["queries"] += 1
            solved = self._solved(query, before, locality)
            candidates.solve_ms += solved.cpu_ms
            self._triangle(candidates, locality, solved.distance, solved.distance)
        self._solve(query, targets, candidates, locality)
        locality.succeed(query, candidates.rows, candidates.bounds)

    def _triangle(self, candidates: Candidates, locality: Locality, nearest: float, furthest: float) -> None:
        """Reject and accept by the previous query's distances; that query is between `nearest` and `furthest` away."""
        candidates.reject("triangle", locality.known(candidates.open_rows).of_next(nearest, furthest).lower)
        if not self.exact:
            candidates.accept("triangle", locality.known(candidates.open_rows).of_next(nearest, furthest).upper)

    def _decidable(self, candidates: Candidates, locality: Locality, nearest: float) -> int:
        """Return how many candidates the triangle filter would decide if the previous query is `nearest` away."""
        bounds = locality.known(candidates.open_rows).of_next(nearest, nearest)
        is_near = (bounds.upper <= self.threshold - self._margin) & (not self.exact)
        return int((is_near | (bounds.lower > self.threshold + self._margin)).sum())

    def _solve(self, query: Rows, targets: Rows, candidates: Candidates, locality: Locality) -> None:
        """Solve the open candidates, the nearest by their bounds first; each dual solution may reject others."""
        while len(candidates.open):
            position = int(candidates.open[candidates.bounds.lower[candidates.open].argmin()])
            solved = self._solved(query, targets[candidates.rows[position]], locality)
            candidates.settle(position, solved)
            if "feasible" in self.filters:
                candidates.reject("feasible", solved.dual.lower_bound(query, targets[candidates.open_rows]))

    def _solved(self, p: Rows, q: Rows, locality: Locality) -> Solved:
        solved = solve(p, q, self.costs)
        locality.add(solved.dual)
        return solved

    @cached_property
    def _margin(self) -> float:
        return margin_of(float(self.costs.max()))

    @cached_property
    def _independent(self) -> IndependentMinimisation:
        return IndependentMinimisation(self.costs)

    @cached_property
    def _tour(self) -> Ints:
        return tour_of_bins(self.costs)


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
        """Return the greatest lower bound by the dual solutions of the distances to histograms, shape (m,)."""
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
