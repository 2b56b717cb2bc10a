"""Common types of the join's searches: histogram columns, found pairs, and the protocol `HistogramSearch`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]
Reals = NDArray[np.float64]
Ints = NDArray[np.int64]

Values = Mapping[str, Rows]
"""Columns that a search derives from the shares of m histograms: float64, of shape (m,) or (m, k)."""

TOLERANCE = 1e-9
"""The amount by which a pair's distance may exceed the threshold, as sums of doubles depend on their order."""

_MARGIN = 4 * TOLERANCE


def margin_of(longest: float) -> float:
    """Return the error that bounds of distances can have if no ground distance is longer than `longest`.

    A lower bound rejects a pair if it exceeds the threshold by this much, and an upper bound accepts one if it is below
    by this much. So no pair is lost by rounding, or by a metric that is only accurate to 1e-9 of its longest distance.
    """
    return _MARGIN * max(1.0, longest)


@dataclass(frozen=True, eq=False)
class HistogramColumns:
    """The m histograms of one stream, in ascending order of their first key.

    Attributes
    ----------
    times : ndarray of int64, shape (m,)
        Event times in ms.
    values : mapping of str to ndarray
        The columns that the search derives from the shares (`HistogramSearch.derived`). Every search has `keys`, shape
        (m, z), and `rows`, shape (m, c), the vectors that it sums or solves.

    Raises
    ------
    ValueError
        When the first keys are not in ascending order, as pairs would be lost.
    """

    times: Ints
    values: Values

    def __post_init__(self) -> None:
        first = self.keys[:, 0]
        if (first[1:] < first[:-1]).any():
            raise ValueError(
                "the histograms are not in ascending order of their first key; use HistogramColumns.ordered"
            )

    @staticmethod
    def ordered(times: Ints, values: Values) -> tuple[HistogramColumns, Ints]:
        """Sort columns by their first key; return them, and each row's index before."""
        order = np.argsort(values["keys"][:, 0], kind="stable")
        return HistogramColumns(times[order], {name: column[order] for name, column in values.items()}), order

    def __len__(self) -> int:
        return len(self.times)

    @property
    def keys(self) -> Rows:
        """The keys of the histograms, shape (m, z); two of them differ by no more than the distance of a pair."""
        return self.values["keys"]

    @property
    def rows(self) -> Rows:
        """The vectors that are compared, shape (m, c)."""
        return self.values["rows"]


class Found(NamedTuple):
    """The pairs that a search finds, in ascending order of query and then target, and the search's work.

    Attributes
    ----------
    query, target : ndarray of int64, shape (p,)
        The rows of both sides.
    distance : ndarray, shape (p,)
        The distance of each pair; NaN for all pairs if distances were not requested.
    solved_by_query, solved_by_target : ndarray of int64
        The number of exact distances for each row of either side. The distance of two queries counts for the later
        query, and for the middle one of the targets that it helps to decide.
    cost_by_query, cost_by_target : ndarray, shape (q, 2) and (t, 2)
        The CPU time of each row of either side in ms: for filtering, and for exact distances (`search_cost`).
    counts : mapping of str to int
        `candidates`: the pairs within reach. Each filter by its name: the pairs that it rejected or accepted. `exact`:
        the pairs whose distance was computed. So the filters and `exact` sum up to the candidates. Beside these
        `queries`: the distances of two queries that were computed.
    """

    query: Ints
    target: Ints
    distance: Reals
    solved_by_query: Ints
    solved_by_target: Ints
    cost_by_query: Rows
    cost_by_target: Rows
    counts: Mapping[str, int]


class HistogramSearch(Protocol):
    """A search for the pairs within a threshold of the Earth Mover's Distance, over columns of two streams."""

    @property
    def by_part(self) -> bool:
        """Whether targets can be searched part by part at no disadvantage.

        Otherwise a search is faster if it sees all candidates of a query at once.
        """

    def derived(self, shares: Rows) -> Values:
        """Return the columns that the search compares, from histograms of shape (m, n); includes `keys` and `rows`."""
        ...

    def find(self, queries: HistogramColumns, targets: HistogramColumns, reach_ms: int) -> Found:
        """Find the pairs with event times at most `reach_ms` apart and distances up to the threshold + TOLERANCE."""
        ...


def pairs_within_reach(queries: Ints, targets: Ints, reach_ms: int) -> int:
    """Return the number of pairs of event times that are at most `reach_ms` apart."""
    ordered = np.sort(targets)
    ends = np.searchsorted(ordered, queries + reach_ms, side="right")
    return int((ends - np.searchsorted(ordered, queries - reach_ms, side="left")).sum())
