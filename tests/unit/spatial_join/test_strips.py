"""The points in boxes are runs of strips, whatever their coordinates."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.spatial_join.geometry.geometries import Points
from tailrace.spatial_join.search import strips
from tailrace.spatial_join.search.strips import PointStrips

COORDINATE = st.one_of(st.integers(-3, 3).map(float), st.floats(allow_nan=False, allow_infinity=False))
PLACES = st.lists(st.tuples(COORDINATE, COORDINATE), max_size=15)


def points_of(places: list[tuple[float, float]]) -> Points:
    return Points(*np.array(places, float).reshape(-1, 2).T)


@drawn(300)
@given(PLACES, PLACES, PLACES, st.sampled_from([0.0, 1e-308, 0.5, 1.0, 1e300]), st.sampled_from([1, 3, 1 << 18]))
def test_each_point_in_a_box_is_a_candidate_once(places, corners, others, height, block):
    points = points_of(places)
    low, high = (of([corners[: len(others)], others[: len(corners)]], axis=0).reshape(-1, 2) for of in (np.min, np.max))
    index = PointStrips.from_points(points, height)
    assert sorted(index.order.tolist()) == list(range(len(points)))
    runs = index.runs(np.concatenate([low, high], axis=1))
    found = []
    before, strips.BLOCK = strips.BLOCK, block
    try:
        for box, place in runs.candidates():
            longest = runs.count.max()
            assert 0 < len(box) < block + longest
            found += zip(runs.order[box].tolist(), index.order[place].tolist(), strict=True)
    finally:
        strips.BLOCK = before
    assert len(set(found)) == len(found)
    inside = {
        (box, row)
        for box, (bottom, top) in enumerate(zip(low.tolist(), high.tolist(), strict=True))
        for row, place in enumerate(places)
        if all(bottom[axis] <= place[axis] <= top[axis] for axis in (0, 1))
    }
    assert inside <= set(found)
    for box, row in found:
        assert low[box, 0] <= points.x[row] <= high[box, 0], "no candidate lies beside the box"


def test_a_point_far_away_is_a_strip_more_and_no_more():
    near = [(0.0, float(y)) for y in range(100)]
    index = PointStrips.from_points(points_of([*near, (1e300, 1e300)]), 1.0)
    assert len(index.strips) == 101
    runs = index.runs(np.array([[-1, 4.5, 1, 6.5], [-1e301, -1e301, 1e301, 1e301]]))
    assert np.bincount(runs.order[runs.box], runs.count).tolist() == [3, 101]
