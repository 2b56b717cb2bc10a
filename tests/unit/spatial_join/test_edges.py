"""Edges of geometries, how far they stray from straight lines, and boxes over runs of them."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from kit.oracles.spatial_oracle import POSITIONS, degrees_geometries
from kit.suite.examples import drawn
from tailrace.spatial_join.geometry.ellipsoid import places_of
from tailrace.spatial_join.geometry.geometries import Points, Shaped
from tailrace.spatial_join.geometry.shape_distance import Edges


def edges_of(*texts: str) -> Edges:
    return Edges.from_geometries(Shaped(np.array([shapely.from_wkt(text) for text in texts], object)))


def test_geometries_are_taken_apart():
    edges = edges_of(
        "POINT (1 2)",
        "POLYGON EMPTY",
        "POLYGON ((0 0, 4 0, 0 4, 0 0), (1 1, 1 2, 2 1, 1 1))",
        "GEOMETRYCOLLECTION (POINT (7 7), GEOMETRYCOLLECTION (MULTILINESTRING ((0 0, 1 1), (2 2, 3 3, 4 4))))",
    )
    rows = [
        sorted(zip(*edges.start[:, low:high], *edges.end[:, low:high], strict=True))
        for low, high in zip(edges.first, edges.first[1:], strict=False)
    ]
    assert rows == [
        [(1, 2, 1, 2)],
        [],
        sorted([(0, 0, 4, 0), (4, 0, 0, 4), (0, 4, 0, 0), (1, 1, 1, 2), (1, 2, 2, 1), (2, 1, 1, 1)]),
        sorted([(7, 7, 7, 7), (0, 0, 1, 1), (2, 2, 3, 3), (3, 3, 4, 4)]),
    ]
    points = Edges.from_geometries(Points(np.array([1.0, 5.0]), np.array([2.0, 6.0])))
    assert points.start.tolist() == points.end.tolist() == [[1, 5], [2, 6]]
    assert points.first.tolist() == [0, 1, 2]


@drawn(300)
@given(POSITIONS, POSITIONS, st.floats(0, 1), st.sampled_from([1.0, 0.5, 1e-2, 1e-4]))
def test_pieces_stray_no_farther_than_their_sagitta(start, end, low, width):
    edges = Edges.from_geometries(Shaped(np.array([shapely.LineString([start, end])], object)))
    high = min(low + width, 1.0)
    edge, share = np.zeros(101, int), np.linspace(0, 1, 101)
    curve = places_of(*edges.at(edge, low + share * (high - low)))
    straight = curve[:, :1] + share * (curve[:, -1:] - curve[:, :1])
    stray = np.linalg.norm(curve - straight, axis=0).max()
    sagitta = float(edges.sagitta(edge[:1], np.array([low]), np.array([high]))[0])
    assert stray <= sagitta + 1e-7
    if abs(start[1]) < 60 and abs(end[1]) < 60 and sagitta < 1e5:
        assert sagitta <= 40 * stray + 1e-6, "a bound so loose would cut pieces too small"


@drawn(100)
@given(st.lists(degrees_geometries(), min_size=1, max_size=5))
def test_boxes_hold_the_curves_of_their_runs(shapes):
    edges = Edges.from_geometries(Shaped(np.array([None, *shapes], object)[1:]))
    share = np.linspace(0, 1, 33)
    for height, level in enumerate(edges.levels):
        for geometry in range(len(shapes)):
            for box in range(level.first[geometry], level.first[geometry + 1]):
                low = edges.first[geometry] + (box - level.first[geometry]) * 2**height
                run = np.arange(low, min(low + 2**height, edges.first[geometry + 1]))
                assert level.edge[box] == low
                curve = places_of(*edges.at(np.repeat(run, 33), np.tile(share, len(run))))
                assert (curve >= level.low[:, box, None] - 1e-6).all()
                assert (curve <= level.high[:, box, None] + 1e-6).all()
    counts = np.diff(edges.levels[-1].first)
    assert (counts == (np.diff(edges.first) > 0)).all()


def test_children_are_the_boxes_of_the_same_edges():
    edges = edges_of("LINESTRING (0 0, 1 0, 2 0, 3 0, 4 0, 5 0)", "LINESTRING (0 1, 1 1, 2 1)")
    top, middle = edges.levels[2], edges.levels[1]
    place, child = top.children(middle, np.array([0, 0, 1]), np.array([0, 1, 2]))
    assert sorted(zip(place.tolist(), child.tolist(), strict=True)) == [(0, 0), (0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize("side", [Points(np.zeros(0), np.zeros(0)), Shaped(np.zeros(0, object))])
def test_no_geometries_have_no_edges(side):
    edges = Edges.from_geometries(side)
    assert edges.start.shape == (2, 0)
    assert len(edges.levels) == 1


def test_no_point_of_an_edge_lies_beyond_a_pole():
    lat = np.linspace(-89, 89, 5001)
    lines = [shapely.LineString([(0, start), (0, pole)]) for start in lat for pole in (-90, 90)]
    edges = Edges.from_geometries(Shaped(np.array(lines, object)))
    for share in (np.nextafter(1.0, 0), 1 - 2e-16, 1.0):
        assert (np.abs(edges.at(np.arange(len(lines)), np.full(len(lines), share))) <= 90).all()
