"""Ray casting over indexed edges tells what exact arithmetic and GEOS tell, on edges and vertices too."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.table_shapes import AREAS, areas, grid_polygons, hard_points
from kit.suite.examples import drawn
from tailrace.spatial_join.geometry.geometries import Points
from tailrace.spatial_join.table import edge_index
from tailrace.spatial_join.table.edge_index import BOUNDARY, EXTERIOR, INTERIOR, EdgeIndex


def rings(polygon):
    for part in shapely.get_parts(polygon):
        yield from (shapely.get_coordinates(ring).tolist() for ring in shapely.get_rings(part))


def location(x, y, polygon):
    """Where a point lies, by even-odd crossings in rational numbers."""
    x, y = Fraction(x), Fraction(y)
    odd = False
    for ring in rings(polygon):
        for (x1, y1), (x2, y2) in pairwise([(Fraction(a), Fraction(b)) for a, b in ring]):
            turn = (x2 - x1) * (y - y1) - (y2 - y1) * (x - x1)
            if turn == 0 and min(x1, x2) <= x <= max(x1, x2) and min(y1, y2) <= y <= max(y1, y2):
                return BOUNDARY
            if (y1 > y) != (y2 > y):
                odd ^= (turn > 0) == (y2 > y1)
    return INTERIOR if odd else EXTERIOR


def all_pairs(points, shapes):
    point, row = (side.ravel() for side in np.indices((len(points), len(shapes))))
    return points.take(point), row


def located(shapes, points):
    return EdgeIndex.from_shapes(shapes).locate(*all_pairs(points, shapes)).reshape(len(points), len(shapes))


@pytest.mark.parametrize("kind", AREAS)
@pytest.mark.parametrize(
    ("scale", "shift"), [(1.0, 0.0), (1e-7, 116.4), (1e9, -3.0), (100.0, 1e15), (1e-148, 0.0), (1e150, 0)]
)
def test_locations_are_those_of_geos(kind, scale, shift, monkeypatch):
    monkeypatch.setattr(edge_index, "PAIRS", 97)
    shapes = shapely.transform(areas(1, kind), lambda places: places * scale + shift)
    shapes = shapes[shapely.is_valid(shapes) & ~shapely.is_empty(shapes)]
    assert len(shapes)
    points = hard_points(np.random.default_rng(2), shapes)
    pairs, row = all_pairs(points, shapes)
    got = EdgeIndex.from_shapes(shapes).locate(pairs, row)
    assert got.tolist() == edge_index.located_by_geos(pairs, shapes[row]).tolist()


@drawn(150)
@given(grid_polygons(), st.data())
def test_locations_are_those_of_rational_arithmetic(shapes, data):
    place = st.one_of(st.integers(-1, 10).map(float), st.integers(-2, 20).map(lambda n: n / 2), st.floats(-2, 11))
    places = np.array(data.draw(st.lists(st.tuples(place, place), max_size=12)), float).reshape(-1, 2)
    points = Points(places[:, 0], places[:, 1])
    expected = [[location(x, y, shape) for shape in shapes] for x, y in places.tolist()]
    assert located(shapes, points).tolist() == expected


def test_next_to_edges_doubles_are_not_trusted():
    random = np.random.default_rng(3)
    triangles = shapely.polygons(random.uniform(0.1, 0.9, (60, 3, 2)))
    ends = shapely.get_coordinates(shapely.get_rings(triangles)).reshape(60, 4, 2)
    share = random.uniform(0, 1, (60, 1))
    places = np.concatenate([ends[:, 0] + share * (ends[:, 1] - ends[:, 0])] * 3)
    places[60:120] = np.nextafter(places[60:120], 2)
    points, row = Points(places[:, 0], places[:, 1]), np.tile(np.arange(60), 3)
    got = EdgeIndex.from_shapes(triangles).locate(points, row)
    expected = [location(x, y, triangles[at]) for (x, y), at in zip(places.tolist(), row, strict=True)]
    assert got.tolist() == expected


def test_products_that_overflow_are_no_fault():
    shapes = shapely.polygons([[(0, 0), (3e200, 1e200), (1e200, 3e200)]])
    points = Points(np.array([1e200, 1e200, 2e200, 0.5e200]), np.array([1e200, 0.2e200, 2.1e200, 0.4e200]))
    expected = edge_index.located_by_geos(points, np.repeat(shapes, 4))
    got = EdgeIndex.from_shapes(shapes).locate(points, np.zeros(4, np.int64))
    assert got.tolist() == expected.tolist()


def test_points_on_vertices_and_on_upright_or_level_edges_need_no_geos(monkeypatch):
    shapes = np.array([shapely.box(0.1, 0.2, 0.7, 0.9), shapely.box(0.7, 0.2, 1.3, 0.9)], object)
    monkeypatch.setattr(edge_index, "located_by_geos", lambda points, _: np.full(len(points), 7))
    points = Points(np.array([0.1, 0.7, 0.7, 0.3]), np.array([0.2, 0.9, 0.5, 0.9]))
    assert located(shapes, points).tolist() == [[0, -1], [0, 0], [0, 0], [0, -1]]


def test_rows_without_an_area_have_all_points_outside():
    shapes = np.array([shapely.Point(1, 1), shapely.box(0, 0, 2, 2), shapely.Polygon()], object)
    points = Points(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    assert located(shapes, points).tolist() == [[-1, 1, -1], [-1, 0, -1]]
    assert located(shapes[:1], points).tolist() == [[-1], [-1]]
    assert not len(located(shapes, Points(np.zeros(0), np.zeros(0))))


def test_edges_point_upward_and_repeated_vertices_are_left_out():
    edges = EdgeIndex.from_shapes(np.array([shapely.Polygon([(0, 0), (2, 0), (2, 0), (1, 3)])], object)).edges
    assert sorted(zip(edges.x1, edges.y1, edges.x2, edges.y2, strict=True)) == [
        (0, 0, 1, 3),
        (0, 0, 2, 0),
        (2, 0, 1, 3),
    ]
