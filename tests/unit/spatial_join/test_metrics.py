"""Distances, limits and azimuths by both metrics are those of pyproj and of plane geometry."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.geometry_pairs import lattice_geometries
from kit.oracles.spatial_oracle import GEOD, POSITIONS, planar
from kit.suite.examples import drawn
from tailrace.spatial_join.geometry.geometries import Points, Shaped
from tailrace.spatial_join.geometry.metrics import Geodesic, Planar

COORDINATES = st.one_of(st.sampled_from([0.0, 3.0, 4.0, -1e-170, 1e-160, 1e300, -1.7e308, 0.1]), st.floats(-1e9, 1e9))
PLACES = st.tuples(COORDINATES, COORDINATES)


def points(*positions: tuple[float, float]) -> Points:
    return Points(*np.array(positions, float).reshape(-1, 2).T)


@drawn(300)
@given(POSITIONS, POSITIONS)
def test_a_limit_between_points_is_kept_to_the_last_bit_of_their_geodesic(one, two):
    left, right = points(one), points(two)
    exact = GEOD.inv(*one, *two)[2]
    assert Geodesic().distance(left, right).tolist() == [exact]
    for limit, wanted in ((exact, True), (np.nextafter(exact, -1), False), (exact + 1, True), (exact - 1, False)):
        if limit >= 0:
            assert Geodesic().within(left, right, limit).tolist() == [wanted]


def test_limits_are_kept_at_all_lengths():
    random = np.random.default_rng(1)
    x, y = random.uniform(-180, 180, 2000), random.uniform(-90, 90, 2000)
    x2, y2, _ = GEOD.fwd(x, y, random.uniform(0, 360, 2000), 10.0 ** random.uniform(-6, 7.2, 2000))
    exact = GEOD.inv(x, y, x2, y2)[2]
    for row, limit in enumerate(exact.tolist()):
        left, right = Points(x[row : row + 1], y[row : row + 1]), Points(x2[row : row + 1], y2[row : row + 1])
        assert Geodesic().within(left, right, limit).all()
        assert not Geodesic().within(left, right, math.nextafter(limit, -1)).any()


def test_few_points_near_the_limit_are_measured(monkeypatch):
    random = np.random.default_rng(2)
    left, right = (Points(116 + random.uniform(0, 0.02, 5000), 40 + random.uniform(0, 0.02, 5000)) for _ in range(2))
    measured: list[int] = []
    distance = Geodesic.distance
    monkeypatch.setattr(Geodesic, "distance", lambda self, a, b: measured.append(len(a)) or distance(self, a, b))
    assert 1000 < Geodesic().within(left, right, 1000.0).sum() < 4000
    assert sum(measured) < 10


@drawn(300)
@given(PLACES, PLACES, st.one_of(st.sampled_from([0.0, 5.0, 1e-165, 1e200, 1e308]), st.floats(0, 1e9)))
def test_planar_distances_of_points(one, two, limit):
    with np.errstate(over="ignore"):
        exact = float(np.hypot(np.float64(one[0]) - two[0], np.float64(one[1]) - two[1]))
    left, right = points(one), points(two)
    assert Planar().distance(left, right).tolist() == [exact]
    assert Planar().within(left, right, limit).tolist() == [exact <= limit]
    boxes = Planar().widened(left.bounds, limit)
    assert np.isfinite(boxes.bounds).all()
    inside = (boxes.bounds[0, :2] <= two).all() and (two <= boxes.bounds[0, 2:]).all()
    assert inside or exact > limit


def test_planar_distances_of_shapes_and_their_widened_envelopes():
    shapes = np.array(lattice_geometries(), object)
    count = len(shapes)
    left, right = Shaped(np.repeat(shapes, count)), Shaped(np.tile(shapes, count))
    wanted = np.array([planar(one, two) for one, two in zip(left.shapes, right.shapes, strict=True)])
    np.testing.assert_array_equal(Planar().distance(left, right), wanted)
    for limit in (0.0, 1.0, math.sqrt(2), 2.5):
        within = Planar().within(left, right, limit)
        assert within.tolist() == (wanted <= limit).tolist()
        boxes = Planar().widened(left.bounds[within], limit)
        assert boxes.row.tolist() == list(range(within.sum()))
        other = right.bounds[within]
        assert ((boxes.bounds[:, :2] <= other[:, 2:]) & (other[:, :2] <= boxes.bounds[:, 2:])).all()


def test_azimuths_go_clockwise_from_north():
    around = points((0, 1), (1, 1), (1, 0), (0, -1), (-1, 0), (-1e-20, 1), (0, 0))
    start = points(*[(0, 0)] * 7)
    assert Planar().azimuth(start, around).tolist() == [0, 45, 90, 180, 270, 0, 0]
    found = Geodesic().azimuth(start, around)
    assert found[[0, 2, 3, 4, 6]].tolist() == [0, 90, 180, 270, 0]
    assert 44 < found[1] < 46
    assert ((found >= 0) & (found < 360)).all()
    assert Geodesic().azimuth(points((180, 0), (179.9, 0)), points((-180, 0), (-179.9, 0))).tolist() == [0, 90]
    assert Planar().azimuth(points((-1.7e308, 0)), points((1.7e308, 0))).tolist() == [90]
    boxes = Shaped(np.array([shapely.box(-1, -1, 1, 1)] * 7, object))
    assert Planar().azimuth(boxes, around).tolist() == Planar().azimuth(start, around).tolist()


def test_azimuths_of_points_are_pyprojs():
    random = np.random.default_rng(4)
    left, right = (Points(random.uniform(-180, 180, 500), random.uniform(-90, 90, 500)) for _ in range(2))
    wanted = GEOD.inv(left.x, left.y, right.x, right.y)[0] % 360
    np.testing.assert_array_equal(Geodesic().azimuth(left, right), wanted)


def test_empty_geometries_have_no_distance():
    empty = Shaped(np.array([shapely.Point(), shapely.Polygon()], object))
    other = points((0, 0), (1, 1))
    for metric in (Planar(), Geodesic()):
        assert np.isnan(metric.distance(empty, other)).all()
        assert not metric.within(other, empty, 1e9).any()
        assert len(metric.widened(empty.bounds, 1.0).row) == 0
        assert np.isnan(metric.azimuth(empty, other)).all()
        none = points()
        assert (
            len(metric.distance(none, none))
            == len(metric.within(none, none, 1.0))
            == len(metric.azimuth(none, none))
            == 0
        )


@pytest.mark.parametrize("limit", [0.0, 1e-200, 1e-141, 1e141, 1e300])
def test_squares_that_are_no_normal_doubles_decide_nothing(limit):
    assert Planar().chords(limit) == (-1.0, np.inf)
