"""The nearest points of straight lines in space are those that a search by grids finds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.spatial_join.geometry.shape_distance import Piece, halve, nearest_shares

CORNER = st.tuples(*[st.integers(-2, 2)] * 3)


@drawn(300)
@given(CORNER, CORNER, CORNER, CORNER)
def test_the_nearest_points_are_the_nearest(a, b, c, d):
    ends = [np.array([end], float).T for end in (a, b, c, d)]
    one, two, distance = (float(part[0]) for part in nearest_shares(*ends))
    assert 0 <= one <= 1
    assert 0 <= two <= 1
    a, b, c, d = (end[:, 0] for end in ends)
    gap = a + one * (b - a) - c - two * (d - c)
    np.testing.assert_allclose(distance, np.sqrt(gap @ gap), atol=1e-12)
    s, t = np.meshgrid(np.linspace(0, 1, 61), np.linspace(0, 1, 61))
    gaps = (a + s[..., None] * (b - a)) - (c + t[..., None] * (d - c))
    assert distance <= np.sqrt((gaps**2).sum(axis=-1)).min() + 1e-12


def test_halves_cover_the_pieces():
    one, two = (Piece(np.array([edge, 9]), np.array([0.0, 0.5]), np.array([1.0, 0.75])) for edge in (3, 4))
    pair, first, second = halve(np.array([0, 1]), one, two, np.array([True, False]))
    assert pair.tolist() == [0, 1, 0, 1]
    assert first.edge.tolist() == [3, 9, 3, 9]
    assert (first.low.tolist(), first.high.tolist()) == ([0, 0.5, 0.5, 0.5], [0.5, 0.75, 1, 0.75])
    assert (second.low.tolist(), second.high.tolist()) == ([0, 0.5, 0, 0.625], [1, 0.625, 1, 0.75])
    assert Piece.whole(np.array([7])).point(np.array([0.25]))[1].tolist() == [0.25]
