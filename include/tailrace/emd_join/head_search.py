"""The search of Head-SJ: three lower bounds and one upper bound (paper 000, 2.2.3).

Each bound is computed from two histograms alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from tailrace.emd_join import ordered_flow, reference_bound
from tailrace.emd_join.candidates import Candidates
from tailrace.emd_join.exact import solve
from tailrace.emd_join.forest import Forest
from tailrace.emd_join.ground_distance import Costs
from tailrace.emd_join.normal_bound import Normals, normals_of, projection
from tailrace.emd_join.range_search import RangeSearch
from tailrace.emd_join.results import FoundBuilder
from tailrace.emd_join.search import Found, HistogramColumns, Ints, Reals, Rows, Values, margin_of
from tailrace.emd_join.tour import tour_of_bins

ORDER = ("normal", "dual", "centroid", "reference")
"""The paper's filters in the order in which candidates meet them."""

FILTERS = frozenset(ORDER)

FLOW = "flow"
"""A further filter, UB_P, which Head-SJ lacks; only for comparisons."""


@dataclass(frozen=True, eq=False)
class HeadSearch:
    """The search by the normal, the dual and the centroid lower bound, the reference upper bound, and exact distances.

    Attributes
    ----------
    threshold : float
        θ, in the unit of the ground distance.
    forest : Forest
        The dual solutions whose keys give the dual lower bound.
    places : ndarray, shape (n, d), or None
        Coordinates of the bins for the centroid bound, if the ground distance is Euclidean. Without them that bound
        uses each bin's distance from a far bin, as the normal bound always does: two such distances differ by at most
        the ground distance.
    exact : bool
        Whether every pair gets its distance. If not, the upper bound may accept pairs, and all distances are NaN.
    references : ndarray, shape (r, n), or None
        The histograms of the reference bound. By default these are the histograms of a single bin, as a query is
        planned before there is data from which to draw.
    """

    costs: Costs
    threshold: float
    forest: Forest
    places: Rows | None = None
    exact: bool = True
    filters: frozenset[str] = FILTERS
    references: Rows | None = None

    by_part: ClassVar[bool] = False

    def derived(self, shares: Rows) -> Values:
        """Return the columns `keys`, `rows` (the shares), `normal`, `centroid` and, given references, `reference`.

        `normal` has the mean, the deviation and the error; `centroid` has the shape (m, d), `reference` (m, r).
        """
        normals = np.stack(normals_of(shares, self._projection), axis=1)
        places = self._projection[:, None] if self.places is None else self.places
        columns = {"keys": self.forest.keys(shares), "rows": shares, "normal": normals, "centroid": shares @ places}
        if self.references is None:
            return columns
        return columns | {"reference": self.reference_distances(shares)}

    def reference_distances(self, shares: Rows) -> Rows:
        """Return the distances of m histograms to the references, shape (m, r)."""
        assert self.references is not None
        return reference_bound.distances(shares, self.references, self.costs)

    def find(self, queries: HistogramColumns, targets: HistogramColumns, reach_ms: int) -> Found:
        """Find the pairs with event times at most `reach_ms` apart and distances up to the threshold + TOLERANCE."""
        builder = FoundBuilder.empty(queries, targets, reach_ms, self.filters)
        in_reach, margin = RangeSearch(targets, np.inf, reach_ms), margin_of(float(self.costs.max()))
        builder.cost.begin()
        for row in range(len(queries)):
            rows = in_reach.candidates(queries.keys[row], int(queries.times[row]))
            candidates = Candidates(rows, self.threshold, margin, builder.counts)
            self._decide({name: column[row] for name, column in queries.values.items()}, targets, candidates)
            builder.add(row, candidates)
        return builder.result(self.exact)

    def _decide(self, query: Values, targets: HistogramColumns, candidates: Candidates) -> None:
        """Decide all candidates of a query."""
        if "normal" in self.filters:
            candidates.reject("normal", _normal(query["normal"], targets.values["normal"][candidates.open_rows]))
        if "dual" in self.filters:
            apart = np.abs(targets.keys[candidates.open_rows] - query["keys"])
            candidates.reject("dual", apart.max(axis=1))
        if "centroid" in self.filters:
            apart = targets.values["centroid"][candidates.open_rows] - query["centroid"]
            candidates.reject("centroid", np.sqrt((apart**2).sum(axis=1)))
        if "reference" in self.filters and not self.exact:
            candidates.accept("reference", self._reference(query, targets, candidates))
        if FLOW in self.filters and not self.exact:
            rows = targets.rows[candidates.open_rows]
            candidates.accept(FLOW, ordered_flow.between(query["rows"][None], rows, self.costs, self._tour))
        for position in candidates.open:
            row = targets.rows[candidates.rows[position]]
            candidates.settle(int(position), solve(query["rows"], row, self.costs))

    def _reference(self, query: Values, targets: HistogramColumns, candidates: Candidates) -> Reals:
        """Return the upper bound over the references for each open candidate."""
        if self.references is None:
            rows = targets.rows[candidates.open_rows]
            return reference_bound.between(query["rows"][None], rows, self.costs)
        apart = targets.values["reference"][candidates.open_rows] + query["reference"]
        return np.asarray(apart.min(axis=1))

    @cached_property
    def _projection(self) -> Reals:
        return projection(self.costs)

    @cached_property
    def _tour(self) -> Ints:
        return tour_of_bins(self.costs)


def _normal(query: Reals, targets: Rows) -> Reals:
    """Return the normal lower bound of one query and m targets, given the columns of `Normals`."""
    return Normals(*query[:, None]).lower_bound(Normals(*targets.T))
