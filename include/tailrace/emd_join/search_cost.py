"""The measured CPU time of a search by row: for filtering candidates and for exact distances (paper 000, eq. 6).

The paper counts only the time of exact distances. Here filtering is often most of the cost, so both terms are measured,
and feedback balances their sum. CPU time is measured, as a busy machine changes it little.
"""

from __future__ import annotations

import time

import numpy as np

from tailrace.emd_join.search import Ints, Rows

FILTER, SOLVE = 0, 1
"""The columns of a cost."""


class SearchCost:
    """The cost of each query and each target, in ms, shape (q, 2) and (t, 2).

    A query's time for filtering is shared evenly by its candidates, and its time for exact distances by the targets in
    proportion to their solves. Time that a query without a candidate takes belongs to no target.
    """

    def __init__(self, queries: int, targets: int) -> None:
        self.by_query: Rows = np.zeros((queries, 2))
        self.by_target: Rows = np.zeros((targets, 2))
        self._last_ns = time.thread_time_ns()

    def begin(self) -> None:
        """Begin the first lap now, as preparations for all queries belong to none."""
        self._last_ns = time.thread_time_ns()

    def lap_ms(self) -> float:
        """Return the CPU time since the last lap, or since the start."""
        last_ns, self._last_ns = self._last_ns, time.thread_time_ns()
        return (self._last_ns - last_ns) / 1e6

    def add(self, query: int, rows: Ints, solves: Ints, solve_ms: float) -> None:
        """Add the time since the last lap to a query and its candidates.

        Parameters
        ----------
        rows : ndarray of int64, shape (k,)
            The candidates, each once.
        solves : ndarray of int64, shape (k,)
            The number of exact distances for each of them.
        solve_ms : float
            The part of the lap that they took.
        """
        filter_ms = max(self.lap_ms() - solve_ms, 0.0)
        self.by_query[query] += filter_ms, solve_ms
        self.by_target[rows, FILTER] += filter_ms / max(len(rows), 1)
        self.by_target[rows, SOLVE] += solve_ms * solves / max(solves.sum(), 1)

    def add_block(self, queries: slice, targets: slice, filter_ms: float) -> None:
        """Add the time of filtering a block of queries and targets."""
        self.by_query[queries, FILTER] += filter_ms / (queries.stop - queries.start)
        self.by_target[targets, FILTER] += filter_ms / (targets.stop - targets.start)

    def add_sums(self, queries: slice, targets: slice, of_queries: Ints, of_targets: Ints, solve_ms: float) -> None:
        """Add the time of the exact distances of a block, given their number for each of its queries and targets."""
        each_ms = solve_ms / max(int(of_queries.sum()), 1)
        self.by_query[queries, SOLVE] += each_ms * of_queries
        self.by_target[targets, SOLVE] += each_ms * of_targets
