"""The pairs that a search has found so far, and its work."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from tailrace.emd_join.candidates import Candidates
from tailrace.emd_join.exact import solver
from tailrace.emd_join.search import Found, HistogramColumns, Ints, Reals, pairs_within_reach
from tailrace.emd_join.search_cost import SearchCost


@dataclass(eq=False)
class FoundBuilder:
    """The pairs of the finished queries, one query after another.

    Attributes
    ----------
    counts : Counter
        As in `Found`. The range search rejects all candidates that it does not return.
    """

    solved_by_query: Ints
    solved_by_target: Ints
    cost: SearchCost
    counts: Counter[str]
    _parts: list[tuple[Ints, Ints, Reals]] = field(default_factory=list)
    _solves: int = 0

    @staticmethod
    def empty(
        queries: HistogramColumns, targets: HistogramColumns, reach_ms: int, filters: frozenset[str]
    ) -> FoundBuilder:
        """Start with no pairs, and a count for every filter."""
        counts = Counter(dict.fromkeys([*sorted(filters), "exact", "queries"], 0))
        counts["candidates"] = counts["range"] = pairs_within_reach(queries.times, targets.times, reach_ms)
        if counts["candidates"]:
            solver()  # otherwise its import would count as a cost of the first query that solves
        cost = SearchCost(len(queries), len(targets))
        return FoundBuilder(np.zeros(len(queries), np.int64), np.zeros(len(targets), np.int64), cost, counts)

    def add(self, query: int, candidates: Candidates) -> None:
        """Add the pairs and the work of a query, all of whose candidates are decided."""
        near = np.flatnonzero(candidates.accepted)
        self._parts.append((np.full(len(near), query), candidates.rows[near], candidates.bounds.upper[near]))
        self.counts["range"] -= len(candidates.rows)
        solves = self.counts["exact"] + self.counts["queries"]
        self.solved_by_query[query], self._solves = solves - self._solves, solves
        of_rows = candidates.solved.astype(np.int64)
        if len(candidates.rows):
            between_queries = self.solved_by_query[query] - candidates.solved.sum()
            of_rows[len(of_rows) // 2] += between_queries
        self.solved_by_target[candidates.rows] += of_rows
        self.cost.add(query, candidates.rows, of_rows, candidates.solve_ms)

    def result(self, exact: bool) -> Found:
        """Return all pairs with their distances, or NaN if not `exact`."""
        none = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        query, target, distance = (np.concatenate(column) for column in zip(none, *self._parts, strict=True))
        if not exact:
            distance[:] = np.nan
        order = np.argsort(query, kind="stable")
        query, target, distance = query[order], target[order], distance[order]
        costs = self.cost.by_query, self.cost.by_target
        return Found(query, target, distance, self.solved_by_query, self.solved_by_target, *costs, self.counts)
