"""The range search: the histograms whose event time and keys are near a query's (paper 000, section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tailrace.emd_join.search import HistogramColumns, Ints, Reals


@dataclass(frozen=True, eq=False)
class RangeSearch:
    """The range search over columns in order of their first key: a slice of them, then masks of the other columns.

    The keys belong to a `Forest`: as Π = −Φ, the range of each key (eq. 5) is the query's key ± the threshold.

    Attributes
    ----------
    width : float
        The greatest difference of keys: θ + the margin; infinite to search only by event time.
    """

    targets: HistogramColumns
    width: float
    reach_ms: int

    @cached_property
    def _keys(self) -> Reals:
        """The keys as contiguous columns, shape (z, m)."""
        return np.ascontiguousarray(self.targets.keys.T)

    def candidates(self, key: Reals, time: int) -> Ints:
        """Return the rows within reach of `time` whose keys are within the width of `key`; shape (z,)."""
        first, width = self._keys[0], self.width
        low, high = first.searchsorted(key[0] - width, "left"), first.searchsorted(key[0] + width, "right")
        mask = np.abs(self.targets.times[low:high] - time) <= self.reach_ms
        for value, column in zip(key[1:], self._keys[1:], strict=True):
            mask &= np.abs(column[low:high] - value) <= width
        return np.asarray(np.flatnonzero(mask) + low)
