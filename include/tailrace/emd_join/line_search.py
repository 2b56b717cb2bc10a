"""The search on a line: distances in closed form, block by block, without a solver."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tailrace.emd_join import line_distance
from tailrace.emd_join.search import (
    TOLERANCE,
    Found,
    HistogramColumns,
    Ints,
    Reals,
    Rows,
    Values,
    margin_of,
    pairs_within_reach,
)
from tailrace.emd_join.search_cost import SearchCost

ORDER = ("centroid", "coarse")
"""The filters in the order of their application."""

FILTERS = frozenset(ORDER)

QUERIES = 64
"""The number of queries in a block: few, so that their centroids are near each other."""

TARGETS = 8192
"""The largest number of targets in a block. A block's matrix holds at most 4 MB, and three exist at a time."""

PIECE = 2048
"""The number of targets whose rows are copied at once for full sums: 4 MB at 256 bins."""


@dataclass(frozen=True, eq=False)
class LineSearch:
    """The search for pairs of histograms whose bins lie on a line; it always gives the distances.

    Targets are ordered by their centroids, so the targets of a block of queries are one slice of the columns. The
    coarse bound then compares sums of neighbouring bins, and only the remaining pairs are summed in full. These count
    as `exact`. Beside the columns and the pairs found, memory is bounded by the size of a block.

    Attributes
    ----------
    steps : ndarray, shape (n − 1,)
        The distances of neighbouring bins.
    threshold : float
        θ, in the unit of the ground distance.
    """

    steps: Reals
    threshold: float
    filters: frozenset[str] = FILTERS

    by_part: ClassVar[bool] = True

    def derived(self, shares: Rows) -> Values:
        """Return the columns `keys`, `rows` and `coarse`.

        `keys` are the centroids, `rows` the cumulated shares times the steps, and `coarse` their block sums.
        """
        rows = line_distance.cumulated(shares, self.steps)
        keys = line_distance.centroids(shares, self.steps)[:, None]
        return {"keys": keys, "rows": rows, "coarse": line_distance.coarse(rows)}

    def find(self, queries: HistogramColumns, targets: HistogramColumns, reach_ms: int) -> Found:
        """Find the pairs with event times at most `reach_ms` apart and distances up to the threshold + TOLERANCE."""
        counts = Counter(coarse=0, queries=0, candidates=pairs_within_reach(queries.times, targets.times, reach_ms))
        by_query, by_target = np.zeros(len(queries), np.int64), np.zeros(len(targets), np.int64)
        parts = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
        cost = SearchCost(len(queries), len(targets))
        for some, part in self._blocks(queries, targets):
            is_open = np.abs(queries.times[some, None] - targets.times[part]) <= reach_ms
            counts["coarse"] += int(is_open.sum())
            if "coarse" in self.filters:
                bound = line_distance.between(queries.values["coarse"][some], targets.values["coarse"][part])
                is_open &= bound <= self.threshold + self._margin
            of_queries, of_targets = is_open.sum(axis=1), is_open.sum(axis=0)
            by_query[some] += of_queries
            by_target[part] += of_targets
            query, target = np.nonzero(is_open)
            cost.add_block(some, part, cost.lap_ms())
            counts["coarse"] -= len(query)
            distance = _sums(queries.rows[some], targets.rows[part], query, target)
            cost.add_sums(some, part, of_queries, of_targets, cost.lap_ms())
            near = distance <= self.threshold + TOLERANCE
            parts.append((query[near] + some.start, target[near] + part.start, distance[near]))
        query, target, distance = (np.concatenate(column) for column in zip(*parts, strict=True))
        counts["exact"] = int(by_query.sum())
        counts["centroid"] = counts["candidates"] - counts["coarse"] - counts["exact"]
        order = np.lexsort((target, query))
        pairs = query[order], target[order], distance[order]
        return Found(*pairs, by_query, by_target, cost.by_query, cost.by_target, counts)

    @property
    def _margin(self) -> float:
        return margin_of(float(self.steps.sum()))

    def _blocks(self, queries: HistogramColumns, targets: HistogramColumns) -> Iterator[tuple[slice, slice]]:
        """Yield blocks of queries, each with the targets whose centroid is within the threshold of a query's."""
        centroids, others = queries.keys[:, 0], targets.keys[:, 0]
        width = self.threshold + self._margin if "centroid" in self.filters else np.inf
        for start in range(0, len(queries), QUERIES):
            some = slice(start, min(start + QUERIES, len(queries)))
            low = int(np.searchsorted(others, centroids[start] - width, side="left"))
            high = int(np.searchsorted(others, centroids[some.stop - 1] + width, side="right"))
            for first in range(low, high, TARGETS):
                yield some, slice(first, min(first + TARGETS, high))


def _sums(rows: Rows, others: Rows, query: Ints, target: Ints) -> Reals:
    """Return the distances of pairs that are ordered by query: each query against the rows of its targets."""
    distance = np.empty(len(query))
    ends = np.append(np.flatnonzero(np.diff(query, prepend=-1)), len(query))
    for start, end in itertools.pairwise(ends.tolist()):
        for first in range(start, end, PIECE):
            piece = slice(first, min(first + PIECE, end))
            distance[piece] = line_distance.between(rows[query[start], None], others[target[piece]])[0]
    return distance
