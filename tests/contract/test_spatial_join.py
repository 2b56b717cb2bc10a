"""What `spatial_join` of two streams promises: the pairs of brute force, however it is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import shapely
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyproj import Geod

from pair_oracle import Join, joined
from pair_runs import FOREVER, JOINS, SIDES, Batch, Sample, assert_as_the_oracle, log_of, logs, run
from tailrace.kind.protocol import Kind
from tailrace.kinds import build
from tailrace.query.declared import declared_query

SOME = settings(max_examples=25, deadline=None, phases=[Phase.generate])
GEOD = Geod(ellps="WGS84")
NEAR_M = 1000.0

EXTENT = [0.0, 0.0, 4.0, 4.0]
SHAPES = (
    "POLYGON ((0 0, 2 0, 2 2, 0 2, 0 0), (0.5 0.5, 1 0.5, 1 1, 0.5 1, 0.5 0.5))",
    "POLYGON ((1 1, 3 1, 3 3, 1 3, 1 1))",
    "LINESTRING (1.5 1.5, 3.5 2.5)",
    "POINT (1 1)",
    "MULTIPOINT ((0.7 0.7), (9 9))",
    "POLYGON ((-90 -80, 90 -80, 90 80, -90 80, -90 -80))",
    "POINT EMPTY",
)
POINTS = (
    "POINT (1 1)",
    "POINT (1.005 1.003)",
    "POINT (1.995 1.0)",
    "POINT (2.001 1.0)",
    "POINT (179.999 1)",
    "POINT (-179.998 1)",
    "POINT (7 89.999)",
)
RELATIONS = ("intersects", "within", "contains", "covers", "touches", "equals", "overlaps", "crosses", "covered_by")
INTERVALS = st.sampled_from([(-60, 60), (0, 0), (-10, 60), (5, 30), (-40, -3)])
VARIANTS = [{"grid": n, "extent": EXTENT} for n in (1, 4, 16)]
VARIANTS += [{"grid": 4, "extent": EXTENT, "bin": "20 ms"}, {"method": "native"}, {}]


def holds(relation: str, left: str, right: str) -> bool:
    """The condition, of one pair of texts."""
    a, b = shapely.from_wkt(left), shapely.from_wkt(right)
    if relation == "dwithin":
        return GEOD.inv(a.x, a.y, b.x, b.y)[2] <= NEAR_M
    return not (a.is_empty or b.is_empty) and bool(getattr(a, relation)(b))


def make_kind(section: dict) -> Callable[[Join, int], Kind]:
    def make(join: Join, feedback: int) -> Kind:
        lower, upper = join.interval
        stream = {"source": {"format": "parquet", "path": "x"}, "event_time": "event_time", "id": "id"}
        geometry = {side: {"wkt": "value"} for side in SIDES}
        interval = {"interval": {"lower": f"{lower} ms", "upper": f"{upper} ms"}}
        query = declared_query(
            {
                "name": "meet",
                "kind": "spatial_join",
                "streams": dict.fromkeys(SIDES, stream | {"arrival_time": "arrival_time"}),
                "spatial_join": {"join": "interval", "geometry": geometry} | interval | section,
            }
        )
        return build(query)

    return make


def plan_of(number: int, tasks: int) -> dict:
    return {"bounds": sorted(np.random.default_rng(number).uniform(-1, 16, tasks - 1).tolist())}


@pytest.mark.parametrize("more", VARIANTS, ids=str)
@SOME
@given(data=st.data(), relation=st.sampled_from([*RELATIONS, *["dwithin"] * 5, "disjoint"]))
def test_the_answers_are_those_of_brute_force(more: dict, data: st.DataObject, relation: str) -> None:
    batches: list[Batch] = data.draw(logs())
    interval, near = data.draw(INTERVALS), relation == "dwithin"
    texts = dict(zip("ab", data.draw(st.permutations(POINTS if near else SHAPES)), strict=False))
    section = more | {"relation": relation} | ({"distance": "1 km", "select": ["distance"]} if near else {})
    if relation == "disjoint":
        section = {name: value for name, value in section.items() if name not in ("grid", "extent")}
    if relation == "disjoint" or more.get("method") == "native":
        batches = [batch._replace(plan=None) for batch in batches]
    join = replace(
        data.draw(JOINS),
        reach=max(map(abs, interval)),
        interval=interval,
        alike=lambda a, b: holds(relation, texts[a], texts[b]),
    )
    sample = Sample(make_kind(section), texts.__getitem__, plan_of)
    rows, join = run(batches, join, data.draw(st.integers(1, 4)), FOREVER, sample)
    tuples = [item for batch in batches for _, items in batch.segments for item in items]
    assert_as_the_oracle(rows, joined(log_of(batches), join), len(tuples))
    shape_of = {item.id: shapely.from_wkt(texts[item.value]) for item in tuples}
    for row in rows.get("results", []) if near else []:
        a, b = shape_of[row["left_id"]], shape_of[row["right_id"]]
        assert row["distance"] == pytest.approx(GEOD.inv(a.x, a.y, b.x, b.y)[2], abs=1e-6)
