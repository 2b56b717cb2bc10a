"""The external engine gives the pairs of unprepared GEOS, and of a condition's own test, for all types of geometry."""

from __future__ import annotations

import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.geometry_pairs import lattice_geometries
from kit.draws.table_shapes import AREAS, areas, by_geos, grid_polygons, hard_points, listed, mixed_rows
from kit.oracles.spatial_oracle import degrees_geometries, geodesic, pairs, planar
from kit.suite.examples import drawn
from tailrace.spatial_join.geometry.ellipsoid import Boxes
from tailrace.spatial_join.geometry.geometries import Points, Shaped, geometries_of
from tailrace.spatial_join.geometry.metrics import Geodesic, Planar
from tailrace.spatial_join.geometry.relations import TOPOLOGICAL
from tailrace.spatial_join.search import external_search
from tailrace.spatial_join.search.condition import Condition
from tailrace.spatial_join.search.external_search import ExternalSearch

SOME = Points(np.array([0.5, 0.2, 9.0]), np.array([0.5, 0.7, 9.0]))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(external_search, "BLOCK", 37)
    monkeypatch.setattr(external_search, "TESTED", 11)


def of_relation(shapes, relation):
    return ExternalSearch.from_shapes(shapes, Condition(relation, None, Planar()))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("kind", AREAS)
def test_points_in_polygons(kind):
    shapes = areas(21, kind)
    points = hard_points(np.random.default_rng(22), shapes, 25)
    for relation in ("within", "covered_by", "intersects", "touches", "disjoint", "contains", "equals"):
        assert listed(of_relation(shapes, relation).matches(points)) == by_geos(relation, points, shapes)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("relation", TOPOLOGICAL)
def test_all_types_in_a_table_of_all_types(relation):
    shapes, others = mixed_rows(23), mixed_rows(24)
    left = Shaped(np.concatenate([others, shapes[:6], shapely.boundary(shapes[1:4])]))
    assert listed(of_relation(shapes, relation).matches(left)) == by_geos(relation, left, shapes)
    points = hard_points(np.random.default_rng(25), shapes[1:4], 12)
    assert listed(of_relation(shapes, relation).matches(points)) == by_geos(relation, points, shapes)


@pytest.mark.parametrize("relation", TOPOLOGICAL)
def test_geometries_that_meet_in_every_way(relation):
    """Among them are lines along an edge of a shell that a hole touches, of which prepared predicates are wrong."""
    shapes = np.array(lattice_geometries(), object)
    expected = by_geos(relation, Shaped(shapes), shapes)
    assert listed(of_relation(shapes, relation).matches(Shaped(shapes))) == expected
    for row in range(0, len(shapes), 9):
        one = shapes[row : row + 1]
        got = listed(of_relation(one, relation).matches(Shaped(shapes)))
        assert got == [(left, 0) for left, right in expected if right == row]
        got = listed(of_relation(shapes, relation).matches(Shaped(one)))
        assert got == [(0, right) for left, right in expected if left == row]


@drawn(30)
@given(grid_polygons(), st.data())
def test_points_on_a_grid(shapes, data):
    place = st.one_of(st.integers(-1, 10).map(float), st.integers(-2, 20).map(lambda n: n / 2))
    places = np.array(data.draw(st.lists(st.tuples(place, place), max_size=15)), float).reshape(-1, 2)
    points = Points(places[:, 0], places[:, 1])
    for relation in ("within", "intersects", "touches", "disjoint"):
        expected = by_geos(relation, points, shapes)
        assert listed(of_relation(shapes, relation).matches(points)) == expected
        assert listed(of_relation(shapes, relation).matches(Shaped(points.shapes))) == expected


@drawn(40)
@given(
    st.lists(degrees_geometries(), max_size=5),
    st.lists(degrees_geometries(), max_size=5),
    st.sampled_from(["dwithin", "disjoint", "intersects"]),
    st.sampled_from([0.0, 1.0, 2000.0, 3e6]),
)
def test_no_pair_of_a_condition_on_the_ellipsoid_is_lost(left, right, relation, distance):
    """Nor over the antimeridian and the poles, where boxes come in two parts."""
    condition = Condition(relation, distance, Geodesic())
    columns = [np.array([*side, None], object)[:-1] for side in (left, right)]
    expected = [
        (i, j)
        for i, one in enumerate(columns[0])
        for j, two in enumerate(columns[1])
        if condition.holds(Shaped(np.array([one])), Shaped(np.array([two])))[0]
    ]
    assert listed(ExternalSearch.from_shapes(columns[1], condition).matches(geometries_of(columns[0]))) == expected


def test_distances_on_the_ellipsoid_are_those_of_geodesics():
    left = shapely.points([[179.9995, 0.0], [-179.9995, 0.0], [0.0, 89.9999], [116.4, 39.9], [116.4, 39.901]])
    right = shapely.points([[-179.9999, 0.0], [180.0, 89.9999], [116.4, 39.9005]])
    expected = pairs(left, right, "dwithin", 70.0, geodesic)
    got = listed(ExternalSearch.from_shapes(right, Condition("dwithin", 70.0, Geodesic())).matches(geometries_of(left)))
    assert got == sorted(expected)
    assert expected == {(0, 0), (1, 0), (2, 1), (3, 2), (4, 2)}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("as_points", [False, True])
@pytest.mark.parametrize("distance", [0.0, 0.1, 1e300])
def test_distances_in_the_plane(distance, as_points):
    shapes = mixed_rows(26)
    some = areas(27, "stars")
    corner = shapes[0]
    near = Points(np.append(SOME.x, corner.x), np.append(SOME.y, corner.y + 0.1))
    left = near if as_points else Shaped(np.append(some, [shapely.Point(), corner]))
    expected = pairs(left.shapes, shapes, "dwithin", distance, planar)
    assert listed(ExternalSearch.from_shapes(shapes, Condition("dwithin", distance, Planar())).matches(left)) == sorted(
        expected
    )


class Anything(Condition):
    """Holds of all candidates, which are found by two equal boxes of the first geometry and one of the second."""

    def boxes(self, bounds):
        return Boxes(bounds[[0, 0, 1]], np.array([0, 0, 1]))

    def holds(self, left, right):
        return np.ones(len(left), bool)


def test_candidates_are_each_asked_once_and_empty_geometries_are_none():
    shapes = np.append(areas(29, "tiles"), [shapely.Polygon()])
    left = Shaped(np.append(shapes[:3], [shapely.Point(), shapes[4]]))
    meet = by_geos("intersects", Shaped(shapely.envelope(left.shapes)), shapely.envelope(shapes))
    found = listed(ExternalSearch.from_shapes(shapes, Anything("dwithin", 1.0, Planar())).matches(left))
    assert found == [pair for pair in meet if pair[0] <= 1]


@pytest.mark.parametrize("relation", ["within", "disjoint", "equals"])
def test_empty_sides(relation):
    none, empty = np.zeros(0, object), np.array([shapely.Polygon(), shapely.Point()], object)
    for shapes in (none, empty):
        assert listed(of_relation(shapes, relation).matches(SOME)) == []
        assert listed(of_relation(areas(1, "stars"), relation).matches(Shaped(shapes))) == []
    assert listed(of_relation(areas(1, "stars"), relation).matches(SOME.take(slice(0, 0)))) == []


def test_empty_parts_are_nowhere():
    parts = [
        "MULTIPOINT (EMPTY, (1 1))",
        "GEOMETRYCOLLECTION (POINT EMPTY, POINT (1 1))",
        "POINT Z (1 1 5)",
        "POINT (2 2)",
    ]
    shapes = np.array([*shapely.from_wkt(parts), shapely.MultiPolygon([shapely.Polygon(), shapely.box(0, 0, 2, 2)])])
    for relation in TOPOLOGICAL:
        got = listed(of_relation(shapes, relation).matches(Shaped(shapes)))
        assert got == by_geos(relation, Shaped(shapes), shapes)


def test_a_copy_from_a_pickle_searches_alike():
    shapes = areas(2, "tiles")
    for search in (
        of_relation(shapes, "within"),
        ExternalSearch.from_shapes(shapes, Condition("dwithin", 0.1, Planar())),
    ):
        expected = listed(search.matches(SOME))
        assert expected
        assert listed(pickle.loads(pickle.dumps(search)).matches(SOME)) == expected


def test_a_process_has_an_engine_of_its_own(monkeypatch):
    search = of_relation(areas(2, "tiles"), "within")
    assert not search._connections
    expected = listed(search.matches(SOME))
    first = dict(search._connections)
    assert listed(search.matches(SOME)) == expected
    assert search._connections == first
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert listed(search.matches(SOME)) == expected
    assert len(search._connections) == 2


def test_searches_of_one_process_have_tables_of_their_own():
    shapes = areas(2, "tiles")
    one, two = of_relation(shapes[:5], "within"), of_relation(shapes[5:], "within")
    for _ in range(2):
        for search, rows in ((one, shapes[:5]), (two, shapes[5:])):
            assert listed(search.matches(SOME)) == by_geos("within", SOME, rows)


def test_threads_search_at_once():
    shapes = areas(3, "tiles")
    search, other = of_relation(shapes, "intersects"), of_relation(shapes, "touches")
    columns = [hard_points(np.random.default_rng(seed), shapes, 200) for seed in range(8)]
    tasks = [(one, points) for points in columns for one in (search, other)]
    expected = [listed(one.matches(points)) for one, points in tasks]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda task: listed(task[0].matches(task[1])), tasks)) == expected
