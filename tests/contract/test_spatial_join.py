"""What `spatial_join` of two streams promises: the pairs of brute force, however it is run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
import shapely
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyproj import Geod

from pair_oracle import InWindow, Item, Join, Pair, in_windows, joined
from pair_runs import FOREVER, JOINS, SIDES, Batch, Sample, assert_as_the_oracle, late_of, log_of, logs, run
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
WINDOWS = st.sampled_from([(60, 60), (60, 20), (50, 30), (10, 10), (1, 1)])
GRIDS = [{"grid": n, "extent": EXTENT} for n in (1, 4, 16)] + [{}]


def holds(relation: str, left: str, right: str) -> bool:
    """The condition, of one pair of texts."""
    a, b = shapely.from_wkt(left), shapely.from_wkt(right)
    if relation == "dwithin":
        return GEOD.inv(a.x, a.y, b.x, b.y)[2] <= NEAR_M
    return not (a.is_empty or b.is_empty) and bool(getattr(a, relation)(b))


def make_kind(section: dict) -> Callable[[Join, int], Kind]:
    def make(join: Join, feedback: int) -> Kind:
        stream = {"source": {"format": "parquet", "path": "x"}, "event_time": "event_time", "id": "id"}
        geometry = {side: {"wkt": "value"} for side in SIDES}
        if join.windows is None:
            lower, upper = join.interval
            when = {"join": "interval", "interval": {"lower": f"{lower} ms", "upper": f"{upper} ms"}}
            window = {}
        else:
            size, slide = join.windows
            when, window = {"join": "window"}, {"window": {"size": f"{size} ms", "slide": f"{slide} ms"}}
        return build(
            declared_query(
                {
                    "name": "meet",
                    "kind": "spatial_join",
                    "streams": dict.fromkeys(SIDES, stream | {"arrival_time": "arrival_time"}),
                    "spatial_join": {"geometry": geometry} | when | section,
                }
                | window
            )
        )

    return make


def plan_of(number: int, tasks: int) -> dict:
    return {"bounds": sorted(np.random.default_rng(number).uniform(-1, 16, tasks - 1).tolist())}


class Case(NamedTuple):
    """What is run, and what its kind is made of."""

    batches: list[Batch]
    join: Join
    tasks: int
    sample: Sample
    texts: dict[str, str]

    def run(self) -> tuple[dict[str, list[dict]], Join]:
        return run(self.batches, self.join, self.tasks, FOREVER, self.sample)

    @property
    def tuples(self) -> list[Item]:
        return [item for batch in self.batches for _, items in batch.segments for item in items]


@st.composite
def cases(draw: st.DrawFn, more: dict) -> Case:
    batches = draw(logs())
    relation = draw(st.sampled_from([*RELATIONS, *["dwithin"] * 5, "disjoint"]))
    near = relation == "dwithin"
    texts = dict(zip("ab", draw(st.permutations(POINTS if near else SHAPES)), strict=False))
    section = more | {"relation": relation} | ({"distance": "1 km", "select": ["distance"]} if near else {})
    if relation == "disjoint":
        section = {name: value for name, value in section.items() if name not in ("grid", "extent")}
    if relation == "disjoint" or more.get("method") == "native":
        batches = [batch._replace(plan=None) for batch in batches]
    join = replace(draw(JOINS), alike=lambda a, b: holds(relation, texts[a], texts[b]))
    sample = Sample(make_kind(section), texts.__getitem__, plan_of)
    return Case(batches, join, draw(st.integers(1, 4)), sample, texts)


@pytest.mark.parametrize("more", [*GRIDS, {"grid": 4, "extent": EXTENT, "bin": "20 ms"}, {"method": "native"}], ids=str)
@SOME
@given(data=st.data())
def test_the_pairs_of_an_interval_are_those_of_brute_force(more: dict, data: st.DataObject) -> None:
    case, interval = data.draw(cases(more)), data.draw(INTERVALS)
    case = case._replace(join=replace(case.join, reach=max(map(abs, interval)), interval=interval))
    rows, join = case.run()
    assert_as_the_oracle(rows, joined(log_of(case.batches), join), len(case.tuples))
    shape_of = {item.id: shapely.from_wkt(case.texts[item.value]) for item in case.tuples}
    for row in rows.get("results", []):
        if "distance" in row:
            a, b = shape_of[row["left_id"]], shape_of[row["right_id"]]
            assert row["distance"] == pytest.approx(GEOD.inv(a.x, a.y, b.x, b.y)[2], abs=1e-6)


@pytest.mark.parametrize("more", [*GRIDS, {"method": "native"}], ids=str)
@SOME
@given(data=st.data())
def test_the_pairs_of_each_window_are_those_of_brute_force(more: dict, data: st.DataObject) -> None:
    case, windows = data.draw(cases(more)), data.draw(WINDOWS)
    case = case._replace(join=replace(case.join, windows=windows, reach=windows[0]))
    rows, join = case.run()
    expected, late = in_windows(log_of(case.batches), join)
    found = {
        InWindow(row["left_id"], row["right_id"], row["window_end"]): Pair(*(row[name] for name in Pair._fields))
        for row in rows.get("results", [])
    }
    assert len(found) == len(rows.get("results", [])), "a pair was answered twice in a window"
    assert found == expected
    assert late_of(rows) == late
    assert all(row["window_end"] - row["window_start"] == windows[0] for row in rows.get("results", []))
    assert sum(row["rows"] for row in rows["metrics"]) == len(case.tuples)
