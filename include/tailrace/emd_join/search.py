"""Shapes that the searches of the join share: columns of histograms, the pairs found, and the protocol
`HistogramSearch`.
"""

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
"""The amount by which a pair's distance may exceed the threshold: sums of doubles in another order differ by less."""

_MARGIN = 4 * TOLERANCE


def margin_of(longest: float) -> float:
    """The error that bounds of distances can have, if no ground distance is longer than `longest`.

    A lower bound rejects a pair if it is this much over the threshold, an upper bound accepts one if it is this much
    below: so neither rounding nor a metric that is one to within 1e-9 of its longest distance loses a pair.
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
        What the search derives from the shares (`HistogramSearch.derived`). Every search has `keys`, shape (m, z), and
        `rows`, shape (m, c): what it sums or solves.

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
            raise ValueError("the histograms are not in ascending order of their first key; use Columns.ordered")

    @staticmethod
    def ordered(times: Ints, values: Values) -> tuple[HistogramColumns, Ints]:
        """Sort columns by their first key: the columns, and for each of their rows its index before."""
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
    """The pairs that a search finds, in ascending order of the query, then of the target, and the work it took.

    Attributes
    ----------
    query, target : ndarray of int64, shape (p,)
        The rows of both sides.
    distance : ndarray, shape (p,)
        The distance of each pair; NaN for all pairs where the search is not asked for distances.
    solved_by_query, solved_by_target : ndarray of int64
        The number of exact distances for each row of either side. The distance of two queries counts for the later one,
        and for the target in the middle of its candidates, which it helps to decide.
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
    counts: Mapping[str, int]


class HistogramSearch(Protocol):
    """A search for the pairs within a threshold of the Earth Mover's Distance, over columns of two streams."""

    @property
    def by_part(self) -> bool:
        """Whether targets may be searched part by part at no loss; else a query gains by all its candidates at once."""

    def derived(self, shares: Rows) -> Values:
        """The columns that the search compares, of histograms of shape (m, n); `keys` and `rows` among them."""
        ...

    def find(self, queries: HistogramColumns, targets: HistogramColumns, reach_ms: int) -> Found:
        """The pairs with event times at most `reach_ms` apart and a distance of at most the threshold + TOLERANCE."""
        ...


def pairs_within_reach(queries: Ints, targets: Ints, reach_ms: int) -> int:
    """The number of pairs of event times that are at most `reach_ms` apart."""
    ordered = np.sort(targets)
    ends = np.searchsorted(ordered, queries + reach_ms, side="right")
    return int((ends - np.searchsorted(ordered, queries - reach_ms, side="left")).sum())
