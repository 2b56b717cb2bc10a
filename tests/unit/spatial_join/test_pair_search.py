"""The pairs that are found are those of the definition, each once, by any index and from either side."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.geometry_pairs import drawn_geometry, lattice_geometries
from kit.oracles import spatial_oracle as oracle
from kit.suite.examples import drawn
from tailrace.spatial_join.geometry.geometries import Geometries, Points, Shaped, geometries_of
from tailrace.spatial_join.geometry.metrics import Geodesic, Metric, Planar
from tailrace.spatial_join.search import pair_search, strips
from tailrace.spatial_join.search.condition import RELATIONS, Condition
from tailrace.spatial_join.search.pair_search import LocalIndex, find_pairs, nested_loops
from tailrace.spatial_join.search.pairs import JoinInterval, Pairs

FAR = st.sampled_from([(1e9, -1e9), (1e18, 3.0), (-1e300, 1e300), (1.7e308, -1.7e308), (0.0, 1e-300)])
PLANE = st.one_of(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), st.tuples(*[st.floats(-3, 3)] * 2), FAR)


def once(pairs: Pairs) -> set[tuple[int, int]]:
    found = list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))
    assert len(found) == len(set(found)), "no pair comes twice"
    return set(found)


def points_of(positions: list[tuple[float, float]]) -> Points:
    return Points(*np.array(positions, float).reshape(-1, 2).T)


def shaped(shapes: list[shapely.Geometry]) -> Shaped:
    return Shaped(np.array([None, *shapes], object)[1:])


def check(
    left: Geometries, right: Geometries, condition: Condition, wanted: set, times: JoinInterval | None = None
) -> None:
    """Every way of finding the pairs finds those that are wanted."""
    assert once(find_pairs(left, right, condition, times)) == wanted
    assert once(nested_loops(left, right, condition, times)) == wanted
    assert once(LocalIndex.from_geometries(right, condition).matches(left, times=times)) == wanted
    assert once(LocalIndex.from_geometries(left, condition).matches(right, swapped=True, times=times)) == wanted


@drawn(200)
@given(
    st.lists(PLANE, max_size=12),
    st.lists(PLANE, max_size=12),
    st.sampled_from([0.0, 1.0, 2**0.5, 0.3, 5e-324, 1e308]),
    st.sampled_from(["dwithin", "disjoint", "intersects", "touches"]),
)
def test_points_in_the_plane(left, right, limit, relation):
    def is_pair(one, two):
        with np.errstate(over="ignore"):
            length = float(np.hypot(np.float64(one[0]) - two[0], np.float64(one[1]) - two[1]))
        related = {"dwithin": True, "disjoint": one != two, "intersects": one == two, "touches": False}[relation]
        return related and length <= limit

    wanted = {(i, j) for i, one in enumerate(left) for j, two in enumerate(right) if is_pair(one, two)}
    check(points_of(left), points_of(right), Condition(relation, limit, Planar()), wanted)


@drawn(200)
@given(
    st.lists(oracle.POSITIONS, max_size=12),
    st.lists(oracle.POSITIONS, max_size=12),
    st.sampled_from([0.0, 500.0, 1000.0, 5e4, 9e6, 1.9e7, 3e7]),
    st.data(),
)
def test_points_on_the_ellipsoid(left, right, limit, data):
    lengths = [[oracle.GEOD.inv(*one, *two)[2] for two in right] for one in left]
    if left and right and data.draw(st.booleans()):
        limit = data.draw(st.sampled_from(sorted({length for row in lengths for length in row})))
    wanted = {(i, j) for i, row in enumerate(lengths) for j, length in enumerate(row) if length <= limit}
    check(points_of(left), points_of(right), Condition("dwithin", limit, Geodesic()), wanted)


@drawn(150)
@given(
    st.integers(0, 2**32),
    st.sampled_from(RELATIONS),
    st.sampled_from([None, 0.0, 1.0, 2.5]),
    st.tuples(st.booleans(), st.booleans()),
    st.booleans(),
)
def test_geometries_in_the_plane(seed, relation, distance, as_points, timed):
    if relation == "dwithin" and distance is None:
        distance = 2**0.5
    random = np.random.default_rng(seed)
    drawn = ([drawn_geometry(random) for _ in range(random.integers(0, 9))] for _ in range(2))
    sides = [[shape for shape in shapes if shape.is_valid] + [shapely.Polygon()] for shapes in drawn]
    sides = [
        [s.representative_point() for s in shapes[:-1]] if only else shapes
        for only, shapes in zip(as_points, sides, strict=True)
    ]
    left, right = (geometries_of(np.array([None, *shapes], object)[1:]) for shapes in sides)
    times = JoinInterval(*(random.integers(0, 20, len(side)) for side in sides), -3, 7) if timed else None
    wanted = oracle.pairs(*sides, relation, distance, oracle.planar, times)
    check(left, right, Condition(relation, distance, Planar()), wanted, times)


AROUND = [
    shapely.from_wkt(text)
    for text in """
POLYGON ((116.3 39.8, 116.5 39.8, 116.5 40, 116.3 39.8)); LINESTRING (116.5 39.79, 117 39.9); POINT (116.2999 39.8)
LINESTRING (179.99 -1, 179.99 1, 180 2); POLYGON ((-180 0, -179 0, -179 1, -180 0)); POINT (180 90); POLYGON EMPTY
GEOMETRYCOLLECTION (POINT (-179.995 0.5), LINESTRING (116.4 39.7, 100 -40)); LINESTRING (-60 89.9, 170 89.95)
""".replace("\n", "; ")
    .strip("; ")
    .split("; ")
]


@cache
def length_around(one: int, two: int) -> float:
    return oracle.geodesic(AROUND[one], AROUND[two]) if one <= two else length_around(two, one)


@pytest.mark.needs("long")
@drawn(100)
@given(
    st.lists(st.integers(0, len(AROUND) - 1), max_size=5),
    st.lists(st.integers(0, len(AROUND) - 1), max_size=5),
    st.sampled_from([0.0, 20.0, 800.0, 1500.0, 2e4, 2e5, 6e6, 1.5e7]),
    st.sampled_from(["dwithin", "disjoint"]),
)
def test_geometries_on_the_ellipsoid(one, two, limit, relation):
    left, right = ([AROUND[number] for number in side] for side in (one, two))
    lengths = {(i, j): length_around(a, b) for i, a in enumerate(one) for j, b in enumerate(two)}
    near = [length for length in lengths.values() if abs(length - limit) < 0.01 + 2e-6 * limit and length > 0]
    if near:  # so near that the tolerance of the distance decides
        limit = max(near) * 1.001 + 1
    apart = oracle.pairs(left, right, "disjoint", None, oracle.geodesic)
    wanted = {pair for pair, length in lengths.items() if length <= limit and (relation == "dwithin" or pair in apart)}
    check(shaped(left), shaped(right), Condition(relation, limit, Geodesic()), wanted)


def test_a_geometry_that_meets_both_boxes_of_a_query_is_found_once():
    world, band = shapely.box(-180, -1, 180, 1), shapely.box(-180, 5, 180, 6)
    near = shaped([shapely.Point(179.99, 0), shapely.Point(-179.99, 1.5), shapely.Point(0, 3)])
    check(near, shaped([world, band]), Condition("dwithin", 1e5, Geodesic()), {(0, 0), (1, 0)})


@pytest.mark.parametrize("block", [1, 5, 1000])
def test_blocks_change_nothing(monkeypatch, block):
    monkeypatch.setattr(pair_search, "BLOCK", block)
    monkeypatch.setattr(strips, "BLOCK", block)
    monkeypatch.setattr(pair_search, "FIRST_BOXES", 1)
    shapes = lattice_geometries()[::3]
    geometries = shaped(shapes)
    for relation, distance in (("intersects", None), ("dwithin", 1.0), ("disjoint", None)):
        wanted = oracle.pairs(shapes, shapes, relation, distance, oracle.planar)
        check(geometries, geometries, Condition(relation, distance, Planar()), wanted)
    positions = np.random.default_rng(0).integers(0, 9, (60, 2)).tolist()
    wanted = {
        (i, j) for i, a in enumerate(positions) for j, b in enumerate(positions) if np.hypot(*np.subtract(a, b)) <= 1
    }
    check(points_of(positions), points_of(positions), Condition("dwithin", 1.0, Planar()), wanted)


def candidates_of(index: LocalIndex, queries: Points, monkeypatch: pytest.MonkeyPatch) -> int:
    from tailrace.spatial_join.search import point_index

    tested: list[int] = []
    squares = point_index.squares
    monkeypatch.setattr(point_index, "squares", lambda *sides: tested.append(len(sides[2])) or squares(*sides))
    index.matches(queries)
    return sum(tested)


@pytest.mark.parametrize("metric", [Planar(), Geodesic()])
def test_few_candidates_are_tested_and_one_far_away_costs_nothing(monkeypatch, metric: Metric):
    random = np.random.default_rng(7)
    left, right = (random.uniform(0, 1, (2, 5000)) for _ in range(2))
    limit = 0.01 if metric == Planar() else 1111.0
    condition = Condition("dwithin", limit, metric)
    index = LocalIndex.from_geometries(Points(*right), condition)
    pairs = len(index.matches(Points(*left)).left)
    tested = candidates_of(index, Points(*left), monkeypatch)
    assert pairs < tested < 2.2 * pairs
    far = (1e18, -1e15) if metric == Planar() else (-170.0, -80.0)
    moved = LocalIndex.from_geometries(Points(*np.append(right, np.array([far]).T, axis=1)), condition)
    assert candidates_of(moved, Points(*left), monkeypatch) <= tested + 5000 * 0.01


def test_event_times_are_compared_before_distances(monkeypatch):
    measured: list[int] = []
    within = Planar.within
    monkeypatch.setattr(
        Planar, "within", lambda self, a, b, limit: measured.append(len(a)) or within(self, a, b, limit)
    )
    shapes = shaped([shapely.box(0, 0, 1, 1)] * 10)
    times = JoinInterval(np.arange(10), np.arange(10), 0, 1)
    pairs = find_pairs(shapes, shapes, Condition("dwithin", 1.0, Planar()), times)
    assert once(pairs) == {(i, j) for i in range(10) for j in (i, i + 1) if j < 10}
    assert sum(measured) == 19


def test_an_index_is_built_once_and_answers_from_both_sides(monkeypatch):
    built: list[int] = []
    tree = shapely.STRtree
    monkeypatch.setattr(pair_search.shapely, "STRtree", lambda shapes: built.append(len(shapes)) or tree(shapes))
    big, small = shapely.box(0, 0, 4, 4), shapely.box(1, 1, 2, 2)
    index = LocalIndex.from_geometries(shaped([big]), Condition("contains", None, Planar()))
    for _ in range(3):
        assert once(index.matches(shaped([small]), swapped=True)) == {(0, 0)}
        assert once(index.matches(shaped([small]))) == set()
    assert built == [1]


def test_the_larger_side_is_indexed(monkeypatch):
    indexed: list[int] = []
    of = LocalIndex.from_geometries
    monkeypatch.setattr(
        LocalIndex, "from_geometries", lambda side, condition: indexed.append(len(side)) or of(side, condition)
    )
    few, many = points_of([(0, 0)]), points_of([(0, 0), (1, 1)])
    condition = Condition("dwithin", 1.0, Planar())
    assert once(find_pairs(few, many, condition)) == {(0, 0)}
    assert once(find_pairs(many, few, condition)) == {(0, 0)}
    assert indexed == [2, 2]
