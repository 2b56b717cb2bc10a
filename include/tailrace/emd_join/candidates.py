"""The candidates of one query: histograms that may be within the threshold, with bounds of their distances."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tailrace.emd_join.exact import Solved
from tailrace.emd_join.search import TOLERANCE, Ints, Reals
from tailrace.emd_join.triangle import DistanceBounds


@dataclass(eq=False)
class Candidates:
    """The candidates of one query. Filters reject or accept them one after another; the rest is solved exactly.

    Attributes
    ----------
    rows : ndarray of int64, shape (k,)
        The rows of the targets.
    margin : float
        The error that a bound can have, see `search.margin_of`.
    counts : Counter
        The number of candidates that each filter rejected or accepted; `exact` counts the solved ones.
    bounds : DistanceBounds
        Bounds of the distances; both are equal where solved.
    open : ndarray of int64
        The positions in `rows` of the candidates that are neither rejected nor accepted yet.
    accepted : ndarray of bool, shape (k,)
    solved : ndarray of bool, shape (k,)
    solve_ms : float
        The CPU time of the exact distances that the query took so far.
    """

    rows: Ints
    threshold: float
    margin: float
    counts: Counter[str]
    bounds: DistanceBounds = field(init=False)
    open: Ints = field(init=False)
    accepted: NDArray[np.bool_] = field(init=False)
    solved: NDArray[np.bool_] = field(init=False)
    solve_ms: float = 0.0

    def __post_init__(self) -> None:
        count = len(self.rows)
        self.bounds = DistanceBounds(np.zeros(count), np.full(count, np.inf))
        self.open = np.arange(count)
        self.accepted, self.solved = np.zeros(count, bool), np.zeros(count, bool)

    @property
    def open_rows(self) -> Ints:
        """The rows of the targets that are neither rejected nor accepted yet."""
        return self.rows[self.open]

    def reject(self, name: str, lower: Reals) -> None:
        """Reject the open candidates whose lower bound, shaped like `open`, is above the threshold + margin."""
        self.bounds.lower[self.open] = np.maximum(self.bounds.lower[self.open], lower)
        self._close(name, self.bounds.lower[self.open] > self.threshold + self.margin)

    def accept(self, name: str, upper: Reals) -> None:
        """Accept the open candidates whose upper bound, shaped like `open`, is below the threshold by the margin."""
        self.bounds.upper[self.open] = np.minimum(self.bounds.upper[self.open], upper)
        is_near = self.bounds.upper[self.open] <= self.threshold + TOLERANCE - self.margin
        self.accepted[self.open[is_near]] = True
        self._close(name, is_near)

    def settle(self, position: int, solved: Solved) -> None:
        """Set the exact distance of the candidate at an index of `rows`."""
        self.bounds.lower[position] = self.bounds.upper[position] = solved.distance
        self.solved[position] = True
        self.solve_ms += solved.cpu_ms
        self.accepted[position] = solved.distance <= self.threshold + TOLERANCE
        self.open = self.open[self.open != position]
        self.counts["exact"] += 1

    def _close(self, name: str, decided: NDArray[np.bool_]) -> None:
        self.counts[name] += int(decided.sum())
        self.open = self.open[~decided]
