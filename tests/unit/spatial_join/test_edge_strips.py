"""The strip of a y holds all of a row's intervals that have it, and few others."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.spatial_join.table import edge_strips as strips
from tailrace.spatial_join.table.edge_strips import EdgeStrips

ENDS = st.one_of(st.integers(-5, 5).map(float), st.floats(-1e300, 1e300))


@drawn(200)
@given(st.lists(st.tuples(st.integers(0, 4), ENDS, ENDS), max_size=30), st.lists(ENDS, max_size=6))
def test_a_strip_holds_all_intervals_with_its_y(drawn, places):
    drawn.sort()
    row = np.array([one[0] for one in drawn], np.int64)
    ends = np.sort(np.array([one[1:] for one in drawn]).reshape(-1, 2), axis=1)
    index, interval = EdgeStrips.from_intervals(row, ends[:, 0], ends[:, 1], 6)
    assert len(interval) <= 6 * len(row) + 1
    for y in [*places, *ends.ravel().tolist()]:
        first, count = index.entries_at(np.arange(6), np.full(6, y))
        for at in range(6):
            held = interval[first[at] : first[at] + count[at]]
            assert set(np.flatnonzero((row == at) & (ends[:, 0] <= y) & (y <= ends[:, 1])).tolist()) <= set(
                held.tolist()
            )
            assert (row[held] == at).all()


def test_a_far_outlier_does_not_thicken_the_strips_of_the_others():
    low = np.arange(1000.0)
    row = np.zeros(1000, np.int64)
    high = low + 1
    high[-1] = 1e12
    index, _ = EdgeStrips.from_intervals(row, low, high, 1)
    _, count = index.entries_at(row, low + 0.5)
    assert count.max() <= 4


def test_tall_intervals_get_thick_strips():
    low, high = np.arange(1000.0), np.arange(1000.0) + 1e6
    _, interval = EdgeStrips.from_intervals(np.zeros(1000, np.int64), low, high, 1)
    assert len(interval) <= strips._ENTRIES_AN_EDGE * 1000
