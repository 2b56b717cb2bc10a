"""The parts of the experiments on spatial joins that measure latencies, shapes, and the same method twice."""

from __future__ import annotations

import json

import pytest

from bench.spatial import joins, pair_latency, shapes
from bench.spatial.same_twice import same_twice, spread
from tailrace.spatial_join.search.pairs import NO_PAIRS

pytestmark = pytest.mark.slow


@pytest.mark.needs("long")
def test_shapes_find_the_same_districts_by_both_methods(monkeypatch):
    rows, twice = shapes.by_condition(120, 1, lambda line: None)
    conditions = len(shapes.TOPOLOGY) + 1
    assert (len(rows), len(twice)) == (2 * (2 * conditions + 1), 2 * conditions + 1)
    assert all(row["× GEOS"] == 1 for row in rows if row["method"] == "GEOS")
    within = [row["pairs"] for row in rows if row["shapes"] == "lines" and row["relation"] == "within"]
    assert within[0] == within[1] > 100
    monkeypatch.setattr(shapes.ShapeSearch, "matches", lambda self, left: NO_PAIRS)
    with pytest.raises(RuntimeError, match="other pairs"):
        shapes.by_condition(50, 1, lambda line: None)


def test_the_settings_of_latencies_have_native_beside_them_and_grids():
    settings = pair_latency.settings()
    assert len({json.dumps(each) for each in settings}) == len(settings) == 10
    native = [each for each in settings if each["method"] == "native"]
    assert [each["join"] for each in native] == list(joins.JOINS)
    assert all(each | {"method": "indexed"} in settings for each in native)


def test_the_spread_of_the_same_twice_is_its_largest_deviation():
    passes = {"one": [{"s": 2.0}, {"s": 4.0}], "one, again": [{"s": 1.0}, {"s": 5.0}]}
    row = same_twice(passes, "one", "s")
    assert list(passes) == ["one"]
    assert (row["lowest ×"], row["highest ×"], row["rounds"]) == (0.5, 1.25, 2)
    assert spread({"x_twice": [row]}, "x_twice") == 0.5
    with pytest.raises(LookupError, match="x_twice has no row"):
        spread({}, "x_twice")
