"""The relations over columns are those of shapely, unprepared, one pair at a time."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from kit.draws.geometry_pairs import all_pairs, lattice_geometries
from kit.oracles.spatial_oracle import relation_holds
from tailrace.spatial_join.geometry.geometries import Shaped, geometries_of
from tailrace.spatial_join.geometry.metrics import Planar
from tailrace.spatial_join.geometry.relations import TOPOLOGICAL, related
from tailrace.spatial_join.search.condition import Condition
from tailrace.spatial_join.search.pair_search import find_pairs

GEOMETRIES = lattice_geometries()
LEFT, RIGHT = all_pairs(GEOMETRIES)
POINTS = [shape for shape in GEOMETRIES if shape.geom_type == "Point" and not shape.is_empty]


def test_the_pairs_are_many_valid_and_the_same_in_each_run():
    assert len(LEFT) >= 5000
    assert all(shape.is_valid for shape in GEOMETRIES)
    assert lattice_geometries() == GEOMETRIES


@pytest.mark.parametrize("relation", TOPOLOGICAL)
def test_each_relation_is_shapelys_on_each_pair(relation):
    wanted = [relation_holds(relation, one, two) for one, two in zip(LEFT, RIGHT, strict=True)]
    assert any(wanted)
    assert not all(wanted)
    left, right = (Shaped(np.array(side, object)) for side in (LEFT, RIGHT))
    assert related(relation, left, right).tolist() == wanted
    found = find_pairs(*(Shaped(np.array(GEOMETRIES, object)),) * 2, Condition(relation, None, Planar()))
    numbers = found.left * len(GEOMETRIES) + found.right
    assert sorted(numbers.tolist()) == np.flatnonzero(wanted).tolist()


@pytest.mark.parametrize("relation", TOPOLOGICAL)
def test_points_have_the_relations_of_their_shapes(relation):
    one, two = all_pairs(POINTS)
    left, right = (geometries_of(np.array(side, object)) for side in (one, two))
    assert related(relation, left, right).tolist() == [
        relation_holds(relation, *pair) for pair in zip(one, two, strict=True)
    ]
    shapes = Shaped(np.array(GEOMETRIES, object))
    points = geometries_of(np.array(POINTS, object))
    for sides, swapped in (((points, shapes), False), ((shapes, points), True)):
        found = find_pairs(*sides, Condition(relation, None, Planar()))
        lists = (GEOMETRIES, POINTS) if swapped else (POINTS, GEOMETRIES)
        wanted = {
            (i, j) for i, a in enumerate(lists[0]) for j, b in enumerate(lists[1]) if relation_holds(relation, a, b)
        }
        assert sorted(zip(found.left.tolist(), found.right.tolist(), strict=True)) == sorted(wanted)


def test_a_line_along_an_edge_that_a_hole_touches_touches_the_polygon():
    line = shapely.from_wkt("LINESTRING (2 0, 4 0)")
    polygon = shapely.from_wkt("POLYGON ((0 0, 6 0, 6 6, 0 6, 0 0), (3 0, 4 2, 2 2, 3 0))")
    sides = Shaped(np.array([line], object)), Shaped(np.array([polygon], object))
    assert [relation for relation in TOPOLOGICAL if related(relation, *sides).all()] == [
        "intersects",
        "touches",
        "covered_by",
    ]
