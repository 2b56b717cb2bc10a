"""Lines, polygons and collections find the polygons that unprepared GEOS finds, and most of them without it."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.geometry_pairs import drawn_geometry, lattice_geometries
from kit.draws.table_shapes import areas, by_geos, listed
from kit.oracles import spatial_oracle as oracle
from kit.suite.examples import drawn
from tailrace.spatial_join.geometry.geometries import AREAS, Points, Shaped, Shapes
from tailrace.spatial_join.geometry.metrics import Geodesic, Planar
from tailrace.spatial_join.geometry.relations import TOPOLOGICAL
from tailrace.spatial_join.search import pair_search
from tailrace.spatial_join.search.condition import Condition
from tailrace.spatial_join.search.pairs import Pairs
from tailrace.spatial_join.table import shape_search
from tailrace.spatial_join.table.shape_search import ShapeSearch, first_vertices

RELATIONS = sorted(set(TOPOLOGICAL) - {"disjoint"})
LIMITS = [0.0, 0.3, 1.0, 2**0.5, 2.0]


@pytest.fixture(params=["runs of one edge", "longer runs in small blocks"])
def runs(request, monkeypatch):
    if request.param != "runs of one edge":
        monkeypatch.setattr(shape_search, "MOST_RUNS", 7)
        for module in (shape_search, pair_search):
            monkeypatch.setattr(module, "BLOCK", 11)


def column(shapes) -> Shapes:
    return np.array([None, *shapes], object)[1:]


def polygons(shapes) -> Shapes:
    return column(shape for shape in shapes if shapely.get_type_id(shape) in AREAS)


def small_shapes(random, count=60) -> Shapes:
    """Short lines and small polygons, with holes and of several parts, in and around the unit square."""
    corner = random.uniform(-0.2, 1.2, (count, 2))
    paths = corner[:, None] + random.normal(0, random.choice([1e-3, 0.02, 0.3], (count, 1, 1)), (count, 5, 2))
    hulls = shapely.convex_hull(shapely.multipoints(paths))
    rings = shapely.difference(hulls, shapely.buffer(shapely.centroid(hulls), np.sqrt(shapely.area(hulls)) / 5))
    lines = shapely.linestrings(paths)
    split = shapely.MultiLineString(list(lines[:3]))
    return column([*lines, *hulls, *rings, split, shapely.multipoints(paths[0]), shapely.MultiPolygon(list(rings[:1]))])


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("relation", RELATIONS)
def test_all_types_that_touch_overlap_and_lie_along_borders_and_holes(relation):
    shapes = lattice_geometries()
    left, rows = Shaped(column(shapes)), polygons(shapes)
    expected = by_geos(relation, left, rows)
    assert listed(ShapeSearch(rows, Condition(relation, None, Planar())).matches(left)) == expected


@pytest.mark.parametrize("kind", ["stars", "tiles", "overlapping", "multi"])
def test_short_lines_and_small_polygons(kind):
    rows, random = areas(21, kind), np.random.default_rng(22)
    borders = shapely.boundary(rows)
    parts = shapely.line_merge(shapely.intersection(borders, shapely.box(0.2, 0.2, 0.7, 0.7)))  # along the borders
    left = Shaped(np.concatenate([small_shapes(random), borders, parts, rows, shapely.buffer(rows, -0.01)]))
    for relation in RELATIONS:
        found = ShapeSearch(rows, Condition(relation, None, Planar())).matches(left)
        assert listed(found) == by_geos(relation, left, rows), relation


@drawn(200)
@given(st.integers(0, 2**32), st.sampled_from([*RELATIONS, "dwithin"]), st.sampled_from(LIMITS))
def test_drawn_geometries(seed, relation, limit):
    random = np.random.default_rng(seed)
    left, rows = ([drawn_geometry(random) for _ in range(random.integers(0, 12))] for _ in range(2))
    left = column([shape for shape in left if shape.is_valid] + [shapely.Polygon()])
    rows = polygons([shape for shape in rows if shape.is_valid] + [shapely.Polygon()])
    wanted = oracle.pairs(left, rows, relation, limit if relation == "dwithin" else None, oracle.planar)
    condition = Condition(relation, limit if relation == "dwithin" else None, Planar())
    assert listed(ShapeSearch(rows, condition).matches(Shaped(left))) == sorted(wanted)


@drawn(60)
@given(
    st.lists(oracle.degrees_geometries(), min_size=1, max_size=6),
    st.lists(oracle.degrees_geometries(), min_size=1, max_size=6),
    st.sampled_from([0.0, 20.0, 1000.0, 2e4, 1e6, 1.5e7]),
)
def test_distances_on_the_ellipsoid(left, rows, limit):
    """The pairs are those of a test of each, but for those whose distance is the limit within the tolerance."""
    rows = polygons(rows)
    condition = Condition("dwithin", limit, Geodesic())
    found = set(listed(ShapeSearch(rows, condition).matches(Shaped(column(left)))))
    every = Pairs(*(side.ravel() for side in np.indices((len(left), len(rows)))))
    lengths = Geodesic().distance(Shaped(column(left)).take(every.left), Shaped(rows).take(every.right))
    for pair, length in zip(listed(every), lengths.tolist(), strict=True):
        if not abs(length - limit) < 0.01 + 1e-5 * limit or length == 0:
            assert (pair in found) == (length <= limit)


@drawn(60)
@given(st.integers(0, 2**32), st.sampled_from(LIMITS))
def test_the_bounds_on_distances_enclose_them(seed, limit):
    """A pair of close vertices is within the limit; one that is neither inside nor near an edge is not."""
    random = np.random.default_rng(seed)
    left = column(shape for shape in (drawn_geometry(random) for _ in range(9)) if shape.is_valid)
    rows = column(shape for shape in polygons(lattice_geometries(0)) if not shape.is_empty)
    search = ShapeSearch(rows, Condition("dwithin", limit, Planar()))
    vertices = first_vertices(Shaped(left))
    near, close = search._near(Shaped(left), vertices)
    inside = search._inside(vertices)
    assert np.isin(close, near).all()
    for key, (i, j) in enumerate(np.ndindex(len(left), len(rows))):
        exact = shapely.distance(left[i], rows[j])
        if key in close or key in inside:
            assert exact <= limit
        if key not in near and key not in inside:
            assert exact > limit


def test_shapes_away_from_all_edges_need_no_geometry(monkeypatch):
    rows = column([shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1), shapely.box(0, 0, 3, 3)])
    left = Shaped(column([shapely.LineString([(0.2, 0.2), (0.8, 0.8)]), shapely.box(1.2, 0.2, 1.8, 0.8)]))

    def asked(condition, one, other):
        assert not len(one)
        return np.zeros(0, bool)

    monkeypatch.setattr(Condition, "holds", asked)
    for relation in ("within", "covered_by", "intersects"):
        found = ShapeSearch(rows, Condition(relation, None, Planar())).matches(left)
        assert listed(found) == [(0, 0), (0, 2), (1, 1), (1, 2)]
    for relation in ("touches", "crosses", "overlaps"):
        assert listed(ShapeSearch(rows, Condition(relation, None, Planar())).matches(left)) == []
    near = ShapeSearch(rows, Condition("dwithin", 0.9, Planar())).matches(Shaped(left.shapes[:1]))
    assert listed(near) == [(0, 0), (0, 1), (0, 2)]  # one vertex of the second polygon is near enough


def test_points_find_polygons_within_a_distance():
    rows, random = areas(31, "multi"), np.random.default_rng(32)
    points = Points(*random.uniform(-0.5, 1.5, (2, 200)))
    for limit in (0.0, 0.01, 0.3):
        found = ShapeSearch(rows, Condition("dwithin", limit, Planar())).matches(points)
        assert listed(found) == sorted(oracle.pairs(points.shapes, rows, "dwithin", limit, oracle.planar))


@pytest.mark.parametrize("relation", ["within", "touches"])
def test_empty_sides(relation):
    condition, square = Condition(relation, None, Planar()), column([shapely.box(0, 0, 1, 1)])
    for left, rows in ((column([]), square), (square, column([])), (column([shapely.Polygon()]), square)):
        assert listed(ShapeSearch(rows, condition).matches(Shaped(left))) == []
    assert listed(ShapeSearch(column([shapely.Polygon()]), condition).matches(Shaped(square))) == []
