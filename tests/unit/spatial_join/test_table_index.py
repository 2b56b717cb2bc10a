"""All ways to search a table give the pairs of unprepared GEOS, for every relation and type of geometry."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.table_shapes import AREAS, areas, by_geos, grid_polygons, hard_points, listed, mixed_rows
from kit.suite.examples import drawn
from tailrace.spatial_join.geometry.geometries import Points, Shaped, geometries_of
from tailrace.spatial_join.geometry.relations import TOPOLOGICAL
from tailrace.spatial_join.search import pair_search
from tailrace.spatial_join.table import area_searches, raster, table_index
from tailrace.spatial_join.table.area_searches import POINT_IN_AREA, EdgeSearch, RasterSearch, area_search
from tailrace.spatial_join.table.table_index import TableIndex

HOW = ("raster", "edges", "rtree")


@pytest.fixture
def small_blocks(monkeypatch):
    for module, name, size in (
        (raster, "BLOCK", 61),
        (area_searches, "BLOCK", 53),
        (pair_search, "BLOCK", 11),
        (table_index, "MOST_CELLS", 40),
    ):
        monkeypatch.setattr(module, name, size)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", AREAS)
def test_points_in_polygons(kind, how):
    shapes = areas(11, kind)
    points = hard_points(np.random.default_rng(12), shapes, 25)
    for relation in ("within", "covered_by", "intersects", "touches", "disjoint", "contains", "equals"):
        assert listed(TableIndex.from_shapes(shapes, relation, how).matches(points)) == by_geos(
            relation, points, shapes
        ), relation


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("relation", TOPOLOGICAL)
def test_points_in_a_table_of_all_types(relation, how):
    shapes = mixed_rows(13)
    hard = hard_points(np.random.default_rng(14), shapes[1:4], 12)
    corner = shapes[0]
    points = Points(np.append(hard.x, [corner.x, 3.0, 0.2, 0.5]), np.append(hard.y, [corner.y, 3.0, 0.3, 0.5]))
    assert listed(TableIndex.from_shapes(shapes, relation, how).matches(points)) == by_geos(relation, points, shapes)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("relation", TOPOLOGICAL)
def test_all_types_in_a_table_of_all_types(relation, how):
    shapes = mixed_rows(15)
    some = mixed_rows(16)
    left = Shaped(np.concatenate([some, shapes[:6], shapely.boundary(shapes[1:4])]))
    assert listed(TableIndex.from_shapes(shapes, relation, how).matches(left)) == by_geos(relation, left, shapes)


@drawn(40)
@given(grid_polygons(), st.data())
def test_points_on_a_grid(shapes, data):
    place = st.one_of(st.integers(-1, 10).map(float), st.integers(-2, 20).map(lambda n: n / 2))
    places = np.array(data.draw(st.lists(st.tuples(place, place), max_size=15)), float).reshape(-1, 2)
    points = Points(places[:, 0], places[:, 1])
    for relation in ("within", "intersects", "touches"):
        expected = by_geos(relation, points, shapes)
        for how in HOW:
            assert listed(TableIndex.from_shapes(shapes, relation, how).matches(points)) == expected


def test_a_line_along_an_edge_that_a_hole_touches_is_asked_of_unprepared_geos():
    """Prepared predicates say that it is within; it lies in the boundary."""
    shell = shapely.Polygon([(0, 0), (4, 0), (4, 4), (0, 4)], [[(1, 0), (2, 2), (1, 2)], [(0, 1), (1, 3), (0.5, 3)]])
    lines = np.array([shapely.LineString([(0, 0), (2, 0)]), shapely.LineString([(0, 0), (0, 3)])], object)
    for relation in ("within", "touches", "crosses", "covered_by"):
        for how in HOW:
            got = listed(TableIndex.from_shapes(np.array([shell], object), relation, how).matches(Shaped(lines)))
            assert got == by_geos(relation, Shaped(lines), [shell])


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("relation", ["within", "disjoint", "equals"])
def test_empty_sides(relation, how):
    none = np.zeros(0, object)
    points = Points(np.array([0.5]), np.array([0.5]))
    assert listed(TableIndex.from_shapes(none, relation, how).matches(points)) == []
    index = TableIndex.from_shapes(areas(1, "stars"), relation, how)
    assert listed(index.matches(Points(np.zeros(0), np.zeros(0)))) == []
    assert listed(index.matches(Shaped(none))) == []
    assert listed(TableIndex.from_shapes(np.array([shapely.Polygon()], object), relation, how).matches(points)) == []


def test_tables_that_no_raster_fits_are_searched_by_edges():
    wide = np.array([shapely.box(-1.7e308, 0, 1.7e308, 1), shapely.box(0, 0.5, 1, 2)], object)
    assert isinstance(area_search(wide, "within", "raster"), EdgeSearch)
    assert isinstance(area_search(wide[1:], "within", "raster"), RasterSearch)
    points = Points(np.array([0.5, 0.5, 2.0]), np.array([0.6, 1.5, 0.2]))
    assert listed(TableIndex.from_shapes(wide, "within").matches(points)) == [(0, 0), (0, 1), (1, 1), (2, 0)]


def test_polygons_in_frames_of_their_own_are_all_found():
    shapes = np.array([shapely.box(x, y, x + 1, y + 1) for x, y in [(1e9, 0), (0, 0), (0, 1e9), (0.5, 0.5)]], object)
    assert len(area_search(shapes, "within", "raster").rasters) == 3
    points = Points(np.array([1e9 + 0.5, 0.7, 0.2, 0.75, 5.0, 1e9]), np.array([0.5, 1e9 + 0.2, 0.2, 0.75, 5.0, 1e9]))
    assert listed(TableIndex.from_shapes(shapes, "within").matches(points)) == [(0, 0), (1, 2), (2, 1), (3, 1), (3, 3)]


def test_a_small_polygon_beside_a_large_one_gets_no_frame_that_overlaps_its_neighbours():
    """Parts of one row: its location in a cell of one frame says nothing of the edges of the other."""
    parts = [shapely.box(0, 0, 1e6, 1e6), shapely.box(1e6 + 1, 0, 1e6 + 2, 1)]
    shapes = np.array([shapely.MultiPolygon(parts), shapely.box(2e6, 0, 3e6, 1)], object)
    x, y = (side.ravel() for side in np.mgrid[1e6 - 0.25 : 1e6 + 3 : 0.25, -0.25:1.5:0.25])
    points = Points(x, y)
    assert listed(TableIndex.from_shapes(shapes, "within").matches(points)) == by_geos("within", points, shapes)


def test_the_tables_own_geometries_stay_unprepared():
    shapes = areas(1, "stars")
    for how in HOW:
        TableIndex.from_shapes(shapes, "within", how).matches(Points(np.array([0.5]), np.array([0.5])))
    assert not shapely.is_prepared(shapes).any()


def test_the_relations_of_points_to_polygons_are_those_of_geos():
    square = shapely.box(0, 0, 2, 2)
    places = {1: shapely.Point(1, 1), 0: shapely.Point(2, 1), -1: shapely.Point(3, 1)}
    for relation, locations in POINT_IN_AREA.items():
        assert locations == {at for at, point in places.items() if getattr(shapely, relation)(point, square)}
    assert set(POINT_IN_AREA) == set(TOPOLOGICAL) - {"disjoint"}


def test_geometries_that_are_all_points_are_searched_as_points():
    points = shapely.points([[0.1, 0.2], [0.5, 0.5]])
    shapes = areas(1, "tiles")
    index = TableIndex.from_shapes(shapes, "within")
    assert listed(index.matches(geometries_of(points))) == listed(index.matches(Shaped(points)))
