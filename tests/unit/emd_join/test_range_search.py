"""The range search loses no pair, and leaves only what is within reach and within the threshold by every key."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.oracles.emd_oracle import case, distances
from kit.oracles.sampled_forest import forest_of_samples
from kit.suite.examples import drawn
from tailrace.emd_join.forest import Forest, far_bins
from tailrace.emd_join.range_search import RangeSearch
from tailrace.emd_join.search import HistogramColumns, margin_of, pairs_within_reach

pytestmark = pytest.mark.slow


@drawn(200)
@given(case(count=9), st.integers(1, 4), st.integers(0, 12), st.booleans(), st.data())
def test_no_pair_is_lost_and_no_other_is_left(drawn, trees, reach_ms, sampled, data):
    costs, rows = drawn
    queries, shares = rows[:3], rows[3:]
    times = np.array(data.draw(st.lists(st.integers(0, 20), min_size=6, max_size=6)))
    forest = forest_of_samples(rows[: trees + 1], costs) if sampled else Forest.of_bins(costs, trees)
    targets, order = HistogramColumns.ordered(times, {"keys": forest.keys(shares), "rows": shares})
    true = distances(queries, shares, costs)
    threshold = data.draw(st.sampled_from([0.0, 1.0, *true.ravel().tolist()]))
    margin = margin_of(float(costs.max()))
    search = RangeSearch(targets, threshold + margin, reach_ms)
    for query, key, exact in zip(queries, forest.keys(queries), true, strict=True):
        left = order[search.candidates(key, 10)].tolist()
        assert len(set(left)) == len(left)
        for row, (share, time) in enumerate(zip(shares, times, strict=True)):
            apart = max(abs(float(solution.phi @ (share - query))) for solution in forest.solutions)
            if abs(time - 10) > reach_ms or apart > threshold + 2 * margin:
                assert row not in left
            elif exact[row] <= threshold + 1e-9:
                assert row in left


@given(st.lists(st.integers(-50, 50)), st.lists(st.integers(-50, 50)), st.integers(0, 60))
def test_pairs_within_reach_are_counted(queries, targets, reach_ms):
    wanted = sum(abs(one - two) <= reach_ms for one in queries for two in targets)
    assert pairs_within_reach(np.array(queries, np.int64), np.array(targets, np.int64), reach_ms) == wanted


def test_far_bins_are_far_from_each_other():
    places = np.array([0.0, 1.0, 5.0, 10.0])
    costs = np.abs(places[:, None] - places)
    assert far_bins(costs, 3).tolist() == [3, 0, 2]
    assert len(far_bins(costs, 9)) == 4
