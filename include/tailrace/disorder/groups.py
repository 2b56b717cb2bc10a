"""Which keys of a sample count: alike for every task, however the log is cut."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tailrace.disorder.seen import Rows

GROUPS = 16
"""So many keys: of those seen so far the ones with the smallest hashes. By its cuts a sample may hold more."""

Hashes = NDArray[np.uint64]


def changes(groups: Hashes, sample: Rows) -> list[tuple[int, Hashes]]:
    """The ticks at which other keys come to count, and which do from then on, ascending.

    Parameters
    ----------
    groups : ndarray, shape (≤ 16,)
        Those that count before.
    """
    appear, first = np.unique(sample["group"].view(np.uint64), return_index=True)
    found = []
    for tick in np.unique(sample.at[first]):
        newest = np.union1d(groups, appear[sample.at[first] == tick])[:GROUPS]
        if not np.array_equal(newest, groups):
            groups = newest
            found.append((int(tick), groups))
    return found
