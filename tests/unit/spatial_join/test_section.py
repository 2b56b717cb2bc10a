"""The section `spatial_join` of a query file: what is refused and why, and the plan that follows from it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tailrace.ground.errors import Refused
from tailrace.kind.inputs import ColumnTypes
from tailrace.kinds import build
from tailrace.panels.explanation import explanation
from tailrace.partition.by_cell import ByCell
from tailrace.partition.by_span import ByHash
from tailrace.partition.grid import Grid
from tailrace.query.joins import SpatialJoinQuery
from tailrace.query.loading import load
from tailrace.spatial_join.geometry.metrics import Geodesic, Planar
from tailrace.spatial_join.streams.interval_join import SpatialIntervalJoin
from tailrace.spatial_join.streams.window_join import SpatialWindowJoin

STREAMS = """
name: meet
kind: spatial_join
streams:
  left: {source: {format: parquet, path: l}, event_time: event_time, arrival_time: arrival_time, id: id}
  right: {source: {format: parquet, path: r}, event_time: event_time, arrival_time: arrival_time, id: id}
"""
GEOMETRY = "geometry: {left: {x: lon, y: lat}, right: {wkt: geom}}"
INTERVAL = "join: interval, interval: {lower: -15 min, upper: 30 min}"
WINDOW = "window: {size: 5 min, slide: 1 min}\n"


def query_of(directory: Path, section: str, more: str = "", geometry: str = GEOMETRY) -> SpatialJoinQuery:
    path = directory / "query.yaml"
    path.write_text(f"{STREAMS}{more}spatial_join: {{{geometry}, {section}}}\n")
    query = load(path)
    assert isinstance(query, SpatialJoinQuery)
    return query


DWITHIN = f"{INTERVAL}, relation: dwithin, distance: 1 km"


@pytest.mark.parametrize(
    ("section", "field", "wrong"),
    [
        ("join: lookup, relation: within", "join", "'lookup' is no join"),
        (f"{INTERVAL}, relation: near", "relation", "'near' is no relation"),
        ("join: interval, relation: within", "interval", "join interval needs the interval"),
        ("join: window, interval: {lower: 0 s, upper: 1 s}, relation: within", "interval", "takes no interval"),
        ("join: window, bin: 1 h, relation: within", "bin", "takes no bin"),
        (f"{INTERVAL}, relation: within, table: {{path: t.csv}}", "table", "join interval takes no table"),
        (f"{INTERVAL}, relation: within, bin: 5 s", "bin", "reaches over more than 256 bins"),
        (
            "join: interval, interval: {lower: 1 s, upper: 0 s}, relation: within",
            "interval.lower",
            "lower is above upper",
        ),
        (f"{INTERVAL}, relation: dwithin", "distance", "dwithin needs a distance"),
        (f"{INTERVAL}, relation: dwithin, distance: 5", "distance", "with crs: degrees a distance is a length"),
        (f"{INTERVAL}, relation: dwithin, distance: -5 km", "distance", "'-5 km' is no distance"),
        (f"{INTERVAL}, relation: dwithin, distance: 5 miles", "distance", "'5 miles' is no distance"),
        (
            f"{INTERVAL}, relation: dwithin, distance: 5 km, crs: planar, extent: [0, 0, 1, 1]",
            "distance",
            "with crs: planar a distance is a bare number",
        ),
        (f"{INTERVAL}, relation: dwithin, distance: 5, crs: planar", "extent", "no default extent"),
        (f"{DWITHIN}, extent: [1, 0, 0, 1]", "extent", "is no extent"),
        (f"{DWITHIN}, extent: [nan, 0, 1, 1]", "extent", "is no extent"),
        (f"{DWITHIN}, extent: [1, 2, 3]", "extent", ""),
        (f"{DWITHIN}, extent: [a, b, c, d]", "extent", ""),
        (f"{DWITHIN}, extent: [400000, 4400000, 500000, 4500000]", "extent", "beyond the world"),
        (f"{INTERVAL}, relation: dwithin, distance: {'9' * 320} km", "distance", ""),
        (f"{DWITHIN}, grid: 0", "grid", "'0' does not fit"),
        (f"{DWITHIN}, grid: 2000", "grid", "'2000' does not fit"),
        (f"{DWITHIN}, method: native, grid: 8", "grid", "method native uses no grid"),
        (f"{DWITHIN}, method: native, bin: 1 h", "bin", "method native uses no bin"),
        (f"{DWITHIN}, method: external", "method", "an external engine answers joins with a table alone"),
        (f"{INTERVAL}, relation: disjoint, grid: 8", "grid", "any two cells"),
        (f"{DWITHIN}, select: [taxi]", "select", "'taxi' is no column that can be selected"),
        (f"{DWITHIN}, select: [middle.taxi]", "select", "'middle.taxi' is no column that can be selected"),
        (f"{DWITHIN}, select: [left.]", "select", "'left.' is no column that can be selected"),
        (f"{DWITHIN}, select: [distance, distance]", "select", "distance comes out as distance, which an answer has"),
        (f"{DWITHIN}, select: [left.taxi, left.taxi]", "select", "comes out as left_taxi, which an answer has already"),
        (f"{DWITHIN}, select: [left.taxi, left.Taxi]", "select", "comes out as left_Taxi, which an answer has already"),
        (f"{DWITHIN}, select: [left.ID]", "select", "comes out as left_ID, which an answer has already"),
        *(
            (
                f"{DWITHIN}, select: [{side}.{name}]",
                "select",
                f"comes out as {side}_{name}, which an answer has already",
            )
            for side in ("left", "right")
            for name in ("id", "time")
        ),
        *(
            (f"{DWITHIN}, select: [{side}.event_time]", "select", f"the event_time of the stream {side}, which answers")
            for side in ("left", "right")
        ),
        (f"{DWITHIN}, bin: 0 s", "bin", "does not fit"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, section, field, wrong):
    with pytest.raises(Refused) as refused:
        query_of(tmp_path, section)
    for problem in refused.value.problems:
        assert f"spatial_join.{field}" in problem.where
        assert wrong in problem.fault
        assert problem.remedy


@pytest.mark.parametrize(
    ("geometry", "field", "wrong"),
    [
        ("geometry: {left: {x: lon, y: lat}}", "geometry.right", "are missing"),
        ("geometry: {left: {x: lon}, right: {wkt: g}}", "geometry.left", "here is x"),
        ("geometry: {left: {wkt: g, wkb: g}, right: {wkt: g}}", "geometry.left", "here is wkb, wkt"),
        ("geometry: {left: {}, right: {wkt: g}}", "geometry.left", "here is nothing"),
    ],
)
def test_geometries_have_columns_of_one_form(tmp_path, geometry, field, wrong):
    with pytest.raises(Refused) as refused:
        query_of(tmp_path, DWITHIN, geometry=geometry)
    (problem,) = refused.value.problems
    assert f"spatial_join.{field}" in problem.where
    assert wrong in problem.fault


@pytest.mark.parametrize(
    ("section", "more", "field", "wrong"),
    [
        ("join: window, relation: within", "", "window", "join window needs a window"),
        (DWITHIN, WINDOW, "window", "join interval takes no window"),
    ],
)
def test_a_window_goes_with_join_window_alone(tmp_path, section, more, field, wrong):
    with pytest.raises(Refused, match=wrong) as refused:
        query_of(tmp_path, section, more)
    assert field in refused.value.problems[0].where


def test_streams_are_left_and_right_and_have_no_keys(tmp_path):
    path = tmp_path / "query.yaml"
    good = f"{STREAMS}spatial_join: {{{GEOMETRY}, {DWITHIN}}}\n"
    for old, new, wrong in (
        ("  right: {", "  middle: {", "takes the streams left and right, here is left, middle"),
        ("path: r}, ", "path: r}, key: taxi, ", "kind spatial_join takes no key"),
    ):
        assert old in good
        path.write_text(good.replace(old, new))
        with pytest.raises(Refused, match=wrong):
            load(path)
    path.write_text("\n".join(line for line in good.splitlines() if "right: {source" not in line))
    with pytest.raises(Refused, match="join interval takes the streams left and right, here is left"):
        load(path)


def test_an_interval_becomes_a_join_with_bins_and_cells(tmp_path):
    kind = build(query_of(tmp_path, f"{DWITHIN}, grid: 16, extent: [115, 39, 118, 42], select: [azimuth, distance]"))
    assert isinstance(kind, SpatialIntervalJoin)
    assert kind.interval == (-900_000, 1_800_000)
    assert (kind.reach_ms, kind.bin_ms) == (1_800_000, 2_700_000)
    assert isinstance(kind.partition, ByCell)
    assert kind.partition.grid == Grid((115, 39, 118, 42), 16)
    assert kind.join.condition.metric == Geodesic()
    assert kind.join.condition.distance == 1000
    assert list(kind.values) == ["azimuth", "distance"]


def test_the_id_is_not_selected_by_its_own_name(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{__name__}.STREAMS", STREAMS.replace("id: id", "id: plate"))
    with pytest.raises(Refused, match=r"right\.plate is the id of the stream right, which answers have as right_id"):
        query_of(tmp_path, f"{DWITHIN}, select: [left.name, right.plate]")


def test_selected_columns_come_out_in_their_order_with_the_types_of_the_sources(tmp_path):
    query = query_of(tmp_path, f"{DWITHIN}, select: [right.name, distance, left.lon, left.a.b]")
    left = ColumnTypes(carried={"left_lon": pa.float32(), "left_a.b": pa.bool_()})
    kind = build(query, [left, ColumnTypes(pa.string(), pa.int64(), {"right_name": pa.date32()})])
    values = {"right_name": pa.date32(), "distance": pa.float64(), "left_lon": pa.float32(), "left_a.b": pa.bool_()}
    assert kind.values == values
    identity = ["left_id", "right_id", "left_time", "right_time"]
    assert kind.answer.names == [*identity, *values, "tuples"]
    assert [dict(each.carried) for each in kind.inputs] == [
        {"left_lon": "lon", "left_a.b": "a.b"},
        {"right_name": "name"},
    ]
    assert set(build(query).values.values()) == {pa.string(), pa.float64()}, "before the sources are opened"


def test_bins_are_few_where_the_interval_is_far_away(tmp_path):
    far = "join: interval, interval: {lower: 1 h, upper: 1 h}, relation: within"
    assert build(query_of(tmp_path, far)).bin_ms == 3_600_000 // 16


def test_a_window_becomes_a_join_that_answers_as_windows_close(tmp_path):
    section = "join: window, relation: within, crs: planar, extent: [0, 0, 9, 9], method: native"
    with pytest.raises(Refused, match="method native uses no extent"):
        query_of(tmp_path, section, WINDOW)
    kind = build(query_of(tmp_path, section.replace("extent: [0, 0, 9, 9], ", ""), WINDOW))
    assert isinstance(kind, SpatialWindowJoin)
    assert (kind.windows.size_ms, kind.windows.slide_ms) == (300_000, 60_000)
    assert isinstance(kind.partition, ByHash)
    assert kind.join.condition.metric == Planar()
    assert not kind.join.is_indexed


def test_the_defaults_are_those_that_are_written(tmp_path):
    plain = query_of(tmp_path, DWITHIN)
    written = "distance: 1000 m, grid: 64, extent: [-180, -90, 180, 90], bin: 45 min"
    full = query_of(tmp_path, f"{INTERVAL}, relation: dwithin, {written}")
    assert plain.structure() == full.structure()
    other = query_of(tmp_path, f"{INTERVAL}, relation: dwithin, {written.replace('64', '32')}")
    assert plain.structure() != other.structure()


@pytest.mark.parametrize(
    ("section", "words"),
    [
        (DWITHIN, ("64 × 64 cells", "sorted strips")),
        (f"{DWITHIN}, method: native", ("hash of its id", "nested loops")),
        (f"{INTERVAL}, relation: disjoint", ("hash of its id", "any two cells")),
    ],
)
def test_the_plan_is_explained(tmp_path, section, words):
    text = explanation(query_of(tmp_path, section))
    assert all(word in str(text) for word in words)
