"""Frames hold their polygons, keep away from others, and are cut where most of one would be empty."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.spatial_join.table.cells import BITS
from tailrace.spatial_join.table.frames import frames_of

PLACE = st.one_of(st.integers(-3, 3).map(float), st.floats(-1e300, 1e300))


def box(x, y, size=1.0):
    return [x, y, x + size, y + size]


@drawn(100)
@given(st.lists(st.tuples(PLACE, PLACE, st.floats(1e-3, 1e12)), min_size=1, max_size=12))
def test_each_polygon_is_in_one_frame_and_out_of_the_others(drawn):
    bounds = np.array([box(x, y, max(size, abs(x) * 1e-9, abs(y) * 1e-9)) for x, y, size in drawn])
    groups = frames_of(bounds)
    assert sorted(np.concatenate([group for _, group in groups]).tolist()) == list(range(len(bounds)))
    assert len(groups) <= 4
    for frame, group in groups:
        numbers = np.column_stack([frame.numbers(side % 2, bounds[:, side]) for side in range(4)])
        inner = (numbers > 0) & (numbers < 2**BITS - 1)
        assert inner[group].all()
        others = np.setdiff1d(np.arange(len(bounds)), group)
        low, high = numbers[others, :2], numbers[others, 2:]
        apart = (high == 0) | (low == 2**BITS - 1)
        assert apart.any(axis=1).all()


@pytest.mark.parametrize("far", [1e5, 1e12, 1e308])
def test_far_polygons_have_frames_of_their_own(far):
    bounds = np.array([box(0, 0), box(far, 0, far / 1e6), box(0.5, 0.5), box(0, -far, far / 1e6)])
    groups = sorted(group.tolist() for _, group in frames_of(bounds))
    assert groups == [[0, 2], [1], [3]]


def test_distances_that_overflow_are_no_fault():
    assert frames_of(np.array([[-1.7e308, 0, -1.6e308, 1], [1.6e308, 0, 1.7e308, 1]])) is None


def test_near_polygons_share_a_frame_and_there_are_no_more_than_four():
    assert len(frames_of(np.array([box(0, 0), box(100, 100)]))) == 1
    assert len(frames_of(np.array([box(1e6**power, 0) for power in range(9)]))) == 4
