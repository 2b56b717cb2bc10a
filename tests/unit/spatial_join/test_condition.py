"""A condition is a relation, a distance or both; what is none is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import shapely

from kit.draws.geometry_pairs import all_pairs, lattice_geometries
from kit.oracles.spatial_oracle import planar, relation_holds
from tailrace.spatial_join.geometry.geometries import Points, Shaped
from tailrace.spatial_join.geometry.metrics import Geodesic, Planar
from tailrace.spatial_join.search.condition import RELATIONS, Condition


@pytest.mark.parametrize(
    ("relation", "distance", "message"),
    [
        ("near", 1.0, "'near' is no relation"),
        ("dwithin", None, "dwithin needs a distance"),
        ("dwithin", -1.0, "must be finite and not negative"),
        ("within", math.inf, "must be finite and not negative"),
        ("within", math.nan, "must be finite and not negative"),
    ],
)
def test_what_is_no_condition_is_refused(relation, distance, message):
    with pytest.raises(ValueError, match=message):
        Condition(relation, distance, Planar())


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("distance", [None, 0.0, 1.0, 2.5])
def test_both_the_relation_and_the_distance_hold(relation, distance):
    distance = 2**0.5 if relation == "dwithin" and distance is None else distance
    condition = Condition(relation, distance, Planar())
    one, two = all_pairs(lattice_geometries()[::2])
    left, right = (Shaped(np.array(side, object)) for side in (one, two))
    lengths = [planar(*pair) for pair in zip(one, two, strict=True)]
    wanted = [
        (relation == "dwithin" or relation_holds(relation, a, b)) and (distance is None or length <= distance)
        for a, b, length in zip(one, two, lengths, strict=True)
    ]
    found = condition.holds(left, right)
    assert found.tolist() == wanted
    assert condition.distances(left.take(found), right.take(found)).tolist() == np.array(lengths)[found].tolist()
    if condition.is_everywhere:
        return
    boxes = condition.boxes(left.bounds)
    assert len(set(boxes.row.tolist())) == len(boxes.row) == (~shapely.is_empty(left.shapes)).sum()
    wide = np.full((len(one), 4), np.nan)
    wide[boxes.row] = boxes.bounds
    meets = ((wide[:, :2] <= right.bounds[:, 2:]) & (right.bounds[:, :2] <= wide[:, 2:])).all(axis=1)
    assert meets[found].all()


def test_envelopes_need_not_meet_where_disjoint_has_no_distance():
    assert Condition("disjoint", None, Planar()).is_everywhere
    assert not Condition("disjoint", 5.0, Planar()).is_everywhere
    assert not Condition("within", None, Planar()).is_everywhere


def test_no_distance_is_measured_of_geometries_that_share_a_point(monkeypatch):
    monkeypatch.setattr(Geodesic, "distance", lambda *_: pytest.fail("a distance was measured"))
    monkeypatch.setattr(Geodesic, "within", lambda *_: pytest.fail("a distance was measured"))
    points = Points(np.zeros(3), np.arange(3.0))
    condition = Condition("intersects", 5.0, Geodesic())
    assert condition.holds(points, points).all()
    assert condition.distances(points, points).tolist() == [0, 0, 0]
