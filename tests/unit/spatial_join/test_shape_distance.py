"""Geodesic distances of lines, polygons and collections are the least over their edges, as a search by grids finds."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from kit.oracles.spatial_oracle import GEOD, degrees_geometries, geodesic
from kit.suite.examples import drawn
from tailrace.spatial_join.geometry import shape_distance
from tailrace.spatial_join.geometry.ellipsoid import widened
from tailrace.spatial_join.geometry.geometries import Points, Shaped
from tailrace.spatial_join.geometry.metrics import Geodesic
from tailrace.spatial_join.geometry.shape_distance import shape_distances


def shaped(*shapes: shapely.Geometry | str) -> Shaped:
    return Shaped(np.array([shapely.from_wkt(shape) if isinstance(shape, str) else shape for shape in shapes], object))


def distance(one: shapely.Geometry | str, two: shapely.Geometry | str) -> float:
    return float(shape_distances(shaped(one), shaped(two))[0])


@pytest.mark.needs("long")
@drawn(80)
@given(degrees_geometries(), degrees_geometries(), st.floats(0, 2))
def test_the_distance_is_the_least_over_all_points(one, two, share):
    wanted = geodesic(one, two)
    found = distance(one, two)
    tolerance = 1e-6 if wanted < 1e7 else 1e-4
    assert found == pytest.approx(wanted, rel=tolerance, abs=1e-3, nan_ok=True)
    assert found == pytest.approx(distance(two, one), rel=tolerance, abs=1e-3, nan_ok=True)
    if np.isnan(wanted):
        return
    limit = wanted * share
    if abs(limit - wanted) > 1e-3 + 2 * tolerance * wanted or wanted == 0:
        assert Geodesic().within(shaped(one), shaped(two), limit).tolist() == [wanted <= limit]
    assert Geodesic().within(shaped(one), shaped(two), found).all(), "a limit does not change the distance"
    boxes, other = widened(shaped(one).bounds, found).bounds, two.bounds
    assert ((boxes[:, :2] <= other[2:]) & (other[:2] <= boxes[:, 2:])).all(axis=1).any()


def test_distances_go_over_the_antimeridian_and_the_poles():
    assert distance("POINT (179.99 0)", "LINESTRING (-179.99 -1, -179.99 1)") == pytest.approx(0.02 * 111319.490793)
    assert distance("LINESTRING (180 -1, 180 1)", "LINESTRING (-180 0, -179 0)") == pytest.approx(0, abs=1e-3)
    assert distance("POINT (0 89)", "LINESTRING (180 89, 180 80)") == pytest.approx(GEOD.inv(0, 89, 180, 89)[2])
    assert distance("LINESTRING (0 90, 90 90)", "POINT (-50 90)") == pytest.approx(0, abs=1e-3)


def test_edges_are_straight_in_degrees():
    """The parallel of 60° from 0° to 100° is an edge that keeps to it, so a point north of it is right above."""
    assert distance("LINESTRING (0 60, 100 60)", "POINT (50 70)") == pytest.approx(
        GEOD.inv(50, 60, 50, 70)[2], rel=1e-6
    )


def test_edges_side_by_side():
    beside = distance("LINESTRING (10 50, 12 50)", "LINESTRING (9 50.01, 14 50.01)")
    assert beside == pytest.approx(GEOD.inv(11, 50, 11, 50.01)[2], rel=1e-6)
    assert distance(
        "POLYGON ((0 0, 9 0, 9 9, 0 9, 0 0), (1 1, 8 1, 8 8, 1 8, 1 1))", "POINT (1.01 4)"
    ) == pytest.approx(GEOD.inv(1, 4, 1.01, 4)[2], rel=1e-6)


def test_many_edges_and_many_rows_at_once(monkeypatch):
    random = np.random.default_rng(0)
    turns = np.linspace(0, 2 * np.pi, 400)[:-1]
    rings = []
    for x, y in random.uniform(-1, 1, (12, 2)):
        radius = 0.1 + 0.05 * np.sin(7 * turns) + random.uniform(0, 0.02, len(turns))
        rings.append(shapely.Polygon(np.column_stack([x + radius * np.cos(turns), 60 + y + radius * np.sin(turns)])))
    points = Points(random.uniform(-1, 1, 300), random.uniform(59, 61, 300))
    polygons = Shaped(np.array(rings, object)[random.integers(0, 12, 300)])
    found = shape_distances(points, polygons)
    dense = [
        GEOD.inv(*np.broadcast_arrays(x, y, *shapely.segmentize(ring.exterior, 2e-3).coords.xy))[2].min()
        for x, y, ring in zip(points.x, points.y, polygons.shapes, strict=True)
    ]
    inside = found == 0
    assert inside.tolist() == [ring.covers(point) for ring, point in zip(polygons.shapes, points.shapes, strict=True)]
    assert (found[~inside] <= np.array(dense)[~inside] + 1e-3).all()
    np.testing.assert_allclose(found[~inside], np.array(dense)[~inside], rtol=1e-2, atol=30)
    near = shape_distances(polygons, points, 30_000.0)
    wanted = np.where(found <= 30_000, found, np.inf)
    np.testing.assert_allclose(np.where(near <= 30_000, near, np.inf), wanted, rtol=1e-6, atol=1e-3)
    monkeypatch.setattr(shape_distance, "BLOCK", 7)
    np.testing.assert_allclose(shape_distances(points, polygons), found, rtol=1e-6, atol=1e-3)


def test_a_geometry_that_comes_often_is_taken_apart_once(monkeypatch):
    lengths: list[int] = []
    monkeypatch.setattr(
        shape_distance.Edges,
        "from_geometries",
        lambda side, of=shape_distance.Edges.from_geometries: lengths.append(len(side)) or of(side),
    )
    box = shapely.box(0, 0, 1, 1)
    shape_distances(Shaped(np.array([box] * 50, object)), Points(np.linspace(2, 3, 50), np.zeros(50)))
    assert lengths == [1, 50]


def test_empty_geometries_and_no_geometries():
    empty = shaped("POLYGON EMPTY", "GEOMETRYCOLLECTION (POINT EMPTY, LINESTRING (0 0, 1 0))", "POINT EMPTY")
    found = shape_distances(empty, shaped(*["POINT (2 0)"] * 3))
    assert np.isnan(found[[0, 2]]).all()
    assert found[1] == pytest.approx(111319.490793)
    assert len(shape_distances(shaped(), shaped())) == 0
