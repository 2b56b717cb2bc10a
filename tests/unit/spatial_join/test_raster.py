"""Cells of the raster say nothing that GEOS denies, leave few points open, and cost no more than the edges."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import assume, given
from hypothesis import strategies as st

from kit.draws.table_shapes import AREAS, areas, grid_polygons, hard_points
from kit.suite.examples import drawn
from tailrace.spatial_join.geometry.geometries import Points
from tailrace.spatial_join.table import raster
from tailrace.spatial_join.table.cells import BITS, RasterFrame
from tailrace.spatial_join.table.edge_index import EXTERIOR, INTERIOR, EdgeIndex, located_by_geos
from tailrace.spatial_join.table.raster_levels import most_cells, rasters_of


def raster_of_all(index):
    (only,) = rasters_of(index)
    return only


def check(shapes, points):
    """Certain pairs are interior, those that are no candidates exterior; no pair comes twice."""
    built = raster_of_all(EdgeIndex.from_shapes(shapes))
    covered, others, is_certain = built.candidates(points)
    expected = np.array([located_by_geos(points, np.full(len(points), shape)) for shape in shapes]).T
    assert (expected[covered.left, covered.right] == INTERIOR).all()
    assert (expected[others.left, others.right][is_certain] == INTERIOR).all()
    seen = np.zeros(expected.shape, int)
    np.add.at(seen, covered, 1)
    np.add.at(seen, others, 1)
    assert (expected[seen == 0] == EXTERIOR).all()
    assert seen.max(initial=0) <= 1
    assert (np.diff(covered.left) > 0).all()
    assert not np.isin(others.left, covered.left).any()
    return built


def on_borders(built):
    """Points on the borders of cells of all levels, and the doubles beside them."""
    random, places, shift = np.random.default_rng(4), [], BITS
    for bits in built.bits:
        shift -= bits
        units = random.integers(0, 1 << (BITS - shift), (40, 2)) * float(1 << shift)
        border = np.column_stack([built.frame.coordinates(axis, units[:, axis]) for axis in (0, 1)])
        places += [border, np.nextafter(border, np.inf), np.nextafter(border, -np.inf)]
    return Points(*np.concatenate(places).T.copy())


@pytest.mark.parametrize("kind", AREAS)
@pytest.mark.parametrize(
    ("scale", "shift"), [(1.0, 0.0), (1e-7, 116.4), (1e9, -3.0), (300.0, 1e15), (1e-140, 0.0), (1e150, 0)]
)
def test_cells_agree_with_geos(kind, scale, shift, monkeypatch):
    monkeypatch.setattr(raster, "BLOCK", 101)
    shapes = shapely.transform(areas(5, kind), lambda places: places * scale + shift)
    shapes = shapes[shapely.is_valid(shapes) & (shapely.get_num_coordinates(shapes) > 0)]
    built = check(shapes, hard_points(np.random.default_rng(6), shapes))
    check(shapes, on_borders(built))


@drawn(60)
@given(grid_polygons(), st.sampled_from([1.0, 1 / 3, 1024.0]), st.data())
def test_cells_agree_with_geos_where_edges_lie_on_borders(shapes, scale, data):
    place = st.one_of(st.integers(-1, 10).map(float), st.floats(-2, 11))
    places = np.array(data.draw(st.lists(st.tuples(place, place), min_size=1, max_size=9)), float) * scale
    check(shapely.transform(shapes, lambda xy: xy * scale), Points(places[:, 0].copy(), places[:, 1].copy()))


def test_where_doubles_are_wider_than_cells_no_cell_is_taken_for_its_neighbour():
    base = 2.0**53
    shapes = np.array(
        [shapely.box(base, base, base + 6, base + 4), shapely.box(base + 8, base, base + 90, base + 2)], object
    )
    x, y = (side.ravel().astype(float) for side in np.mgrid[-4:96:2, -4:8:2])
    check(shapes, Points(base + x, base + y))


@pytest.mark.parametrize("far", [1e2, 1e4, 1e6, 1e12, 1e300, -1.7e308])
@pytest.mark.parametrize("in_one_row", [False, True])
def test_a_far_outlier_leaves_the_raster_as_fine_and_as_small(far, in_one_row):
    tiles = areas(7, "tiles")
    outlier = shapely.box(far, far, far + max(1, abs(far) / 1e3), far + max(1, abs(far) / 1e3))
    shapes = np.append(tiles, outlier)
    if in_one_row:
        shapes[3] = shapely.MultiPolygon([tiles[3], outlier])
    random = np.random.default_rng(8)
    points = Points(random.uniform(0, 1, 20_000), random.uniform(0, 1, 20_000))
    index = EdgeIndex.from_shapes(shapes)
    rasters = rasters_of(index)
    found = [built.candidates(points) for built in rasters]
    doubtful = [others.left[~is_certain] for _, others, is_certain in found]
    assert len(np.unique(np.concatenate(doubtful))) < 20_000 * 0.05
    assert sum(len(built.cells) for built in rasters) <= most_cells(len(index.edges)) + 2**18


@pytest.mark.parametrize("count", [400, 2000])
def test_many_rows_share_the_cells_that_their_edges_pay_for(count):
    random = np.random.default_rng(9)
    corner = random.uniform(0, 1, (count, 2))
    shapes = shapely.box(*corner.T, *(corner + random.uniform(0.001, 0.5, (count, 2))).T)
    index = EdgeIndex.from_shapes(shapes)
    built = check(shapes, hard_points(random, shapes, 5))
    assert len(built.cells) <= most_cells(len(index.edges))


def test_points_beyond_the_frame_have_no_candidates():
    shapes = np.array([shapely.box(0, 0, 1, 1)], object)
    x = np.array([-1e308, 1e308, -0.01, 1.01, 0.5, 0.5, 1e308])
    y = np.array([0.5, 0.5, 0.5, 0.5, 1e300, -1e300, 1e308])
    covered, others, _ = raster_of_all(EdgeIndex.from_shapes(shapes)).candidates(Points(x, y))
    assert not len(covered.left)
    assert not len(others.left)


def test_points_next_to_a_table_have_no_candidates_where_doubles_are_wide():
    base = 2.0**53
    shapes = np.array([shapely.box(base, base, base + 8, base + 8)], object)
    points = Points(np.array([base - 2, base + 10, base + 4]), np.array([base + 4, base + 4, base - 2]))
    _, others, _ = raster_of_all(EdgeIndex.from_shapes(shapes)).candidates(points)
    assert not len(others.left)


def test_tables_without_area_or_too_wide_for_doubles_have_no_raster():
    assert rasters_of(EdgeIndex.from_shapes(np.array([shapely.Point(0, 0), shapely.Polygon()], object))) == []
    assert rasters_of(EdgeIndex.from_shapes(np.array([shapely.box(-1.7e308, 0, 1.7e308, 1)], object))) is None
    assert RasterFrame.around(np.array([0.0, 0.0, 0.0, 1.0])) is None


def test_no_points_have_no_candidates():
    built = raster_of_all(EdgeIndex.from_shapes(areas(1, "stars")))
    covered, others, is_certain = built.candidates(Points(np.zeros(0), np.zeros(0)))
    assert not len(covered.left) + len(others.left) + len(is_certain)


@drawn(200)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20))
def test_numbers_of_cells_never_fall_where_coordinates_rise(coordinates):
    assume(max(coordinates) - min(coordinates) > 1e-200)
    frame = RasterFrame.around(np.array([min(coordinates), 0.0, max(coordinates), 1.0]))
    numbers = frame.numbers(0, np.sort(np.array([*coordinates, -1e308, 1e308])))
    assert (np.diff(numbers) >= 0).all()
    assert numbers[0] == 0
    assert numbers[-1] == 2**BITS - 1
