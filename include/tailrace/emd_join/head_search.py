"""The search of Head-SJ: three lower bounds and an upper one, each from the two histograms alone (paper 000, 2.2.3)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from tailrace.emd_join import reference_bound
from tailrace.emd_join.candidates import Candidates
from tailrace.emd_join.exact import solve
from tailrace.emd_join.forest import Forest
from tailrace.emd_join.ground_distance import Costs
from tailrace.emd_join.normal_bound import Normals, normals_of, projection
from tailrace.emd_join.range_search import RangeSearch
from tailrace.emd_join.results import FoundBuilder
from tailrace.emd_join.search import Found, HistogramColumns, Reals, Rows, Values, margin_of

ORDER = ("normal", "dual", "centroid", "reference")
"""The filters in the order in which candidates meet them."""

FILTERS = frozenset(ORDER)


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
        Coordinates of the bins, where the ground distance is the Euclidean one. Without them the bins' distances from a
        far bin take their place: no two differ by more than the ground distance.
    exact : bool
        Whether each pair's distance is computed. If not, the upper bound accepts pairs, and every distance is NaN.
    """

    costs: Costs
    threshold: float
    forest: Forest
    places: Rows | None = None
    exact: bool = True
    filters: frozenset[str] = FILTERS

    by_part: ClassVar[bool] = False

    def derived(self, shares: Rows) -> Values:
        """The columns `keys`, `rows` (the shares), `normal` (mean, deviation, error) and `centroid`, shape (m, d)."""
        normals = np.stack(normals_of(shares, self._projection), axis=1)
        places = self._projection[:, None] if self.places is None else self.places
        return {"keys": self.forest.keys(shares), "rows": shares, "normal": normals, "centroid": shares @ places}

    def find(self, queries: HistogramColumns, targets: HistogramColumns, reach_ms: int) -> Found:
        """The pairs with event times at most `reach_ms` apart and a distance of at most the threshold + TOLERANCE."""
        builder = FoundBuilder.empty(queries, targets, reach_ms, self.filters)
        in_reach, margin = RangeSearch(targets, np.inf, reach_ms), margin_of(float(self.costs.max()))
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
            rows = targets.rows[candidates.open_rows]
            candidates.accept("reference", reference_bound.between(query["rows"][None], rows, self.costs))
        for position in candidates.open:
            row = targets.rows[candidates.rows[position]]
            candidates.settle(int(position), solve(query["rows"], row, self.costs).distance)

    @cached_property
    def _projection(self) -> Reals:
        return projection(self.costs)


def _normal(query: Reals, targets: Rows) -> Reals:
    """The normal lower bound of one query and m targets, of the columns of `Normals`."""
    return Normals(*query[:, None]).lower_bound(Normals(*targets.T))
