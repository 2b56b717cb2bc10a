"""The demonstration's spatial joins: the truth by hand, the comparison with it, and the map."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyproj import Geod
from rich.console import Console

from demo.comparison import compare
from demo.printed_texts import summary
from demo.spatial_map import _matched, draw_answers
from demo.true_spatial_pairs import true_spatial_pairs
from generators.replay import START_MS, TIME
from tailrace.query.declared import declared_query
from tailrace.query.query import Query

CROSSING = (116.45, 39.94)
DISTANCE_M = 200


def moved(metres: float, azimuth: float = 30) -> tuple[float, float]:
    """A place so far from the crossing."""
    lon, lat, _ = Geod(ellps="WGS84").fwd(*CROSSING, azimuth, metres)
    return lon, lat


LEFT = {"a": (0, CROSSING), "b": (60, CROSSING), "c": (10, (0.0, 0.0)), "border": (20, (116.5, 39.92))}
RIGHT = {
    "near": (30, moved(199.99)),
    "far": (0, moved(200.01)),
    "soon": (90, moved(50, 200)),
    "late": (91, moved(50, 200)),
    "origin": (10, (0.0, 0.0)),
}
MET = {("a", "near"): 199.99, ("b", "near"): 199.99, ("b", "soon"): 50.0, ("c", "origin"): 0.0}
BOW_TIE = [[116.4, 39.9], [116.5, 39.98], [116.5, 39.9], [116.4, 39.98], [116.4, 39.9]]
SPIKE = [[116.55, 39.8], [116.55, 39.95], [116.55, 39.8]]
EAST = [[116.5, 39.8], *SPIKE, [116.6, 39.8], [116.6, 40.0], [116.5, 40.0], [116.5, 39.8]]


def stream(directory: Path, fixes: dict[str, tuple[int, tuple[float, float]]]) -> dict:
    directory.mkdir(parents=True)
    times = pa.array([START_MS + 1000 * seconds for seconds, _ in fixes.values()], TIME)
    lon, lat = zip(*(place for _, place in fixes.values()), strict=True)
    rows = pa.table({"event_time": times, "arrival_time": times, "id": list(fixes), "lon": lon, "lat": lat})
    pq.write_table(rows.slice(0, 2), directory / "0.parquet")
    pq.write_table(rows.slice(2), directory / "1.parquet")
    columns = {name: name for name in ("event_time", "arrival_time", "id")}
    return columns | {"source": {"format": "parquet", "path": str(directory)}}


@pytest.fixture
def meetings(tmp_path) -> Query:
    section = {"join": "interval", "interval": {"lower": "-30 s", "upper": "30 s"}, "relation": "dwithin"}
    section |= {"geometry": {side: {"x": "lon", "y": "lat"} for side in ("left", "right")}}
    section |= {"distance": f"{DISTANCE_M} m", "select": ["distance"]}
    streams = {"left": stream(tmp_path / "left", LEFT), "right": stream(tmp_path / "right", RIGHT)}
    declaration = {"name": "meetings", "kind": "spatial_join", "streams": streams, "spatial_join": section}
    return declared_query(declaration | {"disorder": {"policy": "k_slack", "k": "10 s"}})


@pytest.fixture
def districts(tmp_path) -> Query:
    """Two districts and five fixes: one ring crosses itself, and one has a spike into its area, where a fix lies."""
    features = [
        {"type": "Feature", "properties": {"pinyin": name}, "geometry": {"type": "Polygon", "coordinates": [ring]}}
        for name, ring in (("Bow Tie", BOW_TIE), ("East", EAST))
    ]
    (tmp_path / "areas.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    fixes = {"in": (0, (116.41, 39.94)), "out": (1, (116.45, 39.95)), "east": (2, (116.55, 39.9))}
    fixes |= {"border": LEFT["border"], "off": (3, (0.0, 0.0))}
    section = {"join": "table", "geometry": {"left": {"x": "lon", "y": "lat"}}, "relation": "within"}
    section |= {"table": {"path": str(tmp_path / "areas.geojson"), "id": "pinyin", "on_invalid": "make_valid"}}
    streams = {"left": stream(tmp_path / "fixes", fixes)}
    return declared_query({"name": "districts", "kind": "spatial_join", "streams": streams, "spatial_join": section})


LOCATED = [("in", "Bow Tie"), ("east", "East")]


def answers(pairs: dict[tuple[str, str], float | None]) -> pa.Table:
    left, right = zip(*pairs, strict=True)
    count = len(pairs)
    columns = {"left_id": left, "right_id": right, "left_time": [0] * count, "right_time": [300] * count}
    columns |= {"as_of": [700] * count, "k_ms": [500] * count}
    return pa.table(columns if None in pairs.values() else columns | {"distance": list(pairs.values())})


def located(*pairs: tuple[str, str]) -> pa.Table:
    return answers(dict.fromkeys(pairs))


def test_the_truth_holds_both_ends_of_the_interval_and_distances_up_to_the_limit(meetings):
    true = true_spatial_pairs(meetings)
    assert true.keys() == MET.keys()
    assert all(true[pair] == pytest.approx(metres, abs=1e-6) for pair, metres in MET.items())


def test_a_fix_on_a_border_or_in_no_district_has_none_and_invalid_districts_are_mended(districts):
    assert set(true_spatial_pairs(districts)) == set(LOCATED)


def test_pairs_that_met_are_right_when_all_are_there_once_with_their_distances(meetings):
    whole, first = answers(MET), answers(dict(list(MET.items())[:3]))
    comparison = compare(meetings, first, whole)
    assert comparison.is_right
    assert comparison.truth == "4 pairs"
    assert comparison.shares == {"pairs found": [0.75, 1], "of these, true": [1, 1]}
    assert not compare(meetings, whole, first).is_right, "one is missing"
    assert not compare(meetings, whole, pa.concat_tables([whole, whole.slice(0, 1)])).is_right, "one comes twice"


@pytest.mark.parametrize(
    "wrong",
    [
        MET | {("a", "far"): 200.01},
        MET | {("b", "soon"): 50.001},
        MET | {("b", "soon"): math.nan},
        MET | {("c", "origin"): 1.0},
    ],
)
def test_a_pair_too_many_and_a_wrong_distance_are_wrong(meetings, wrong):
    comparison = compare(meetings, answers(MET), answers(wrong))
    assert not comparison.is_right
    assert comparison.shares["of these, true"][1] < 1


def test_answers_without_their_distances_are_wrong(meetings):
    assert not compare(meetings, answers(MET), answers(MET).drop_columns("distance")).is_right


@pytest.mark.parametrize(
    ("given", "is_right"),
    [
        (LOCATED, True),
        (LOCATED[:1], False),
        ([("in", "East"), ("east", "East")], False),
        ([*LOCATED, ("off", "East")], False),
        ([*LOCATED, ("border", "East")], False),
    ],
)
def test_districts_are_compared_as_streamed_since_nothing_is_corrected(districts, given, is_right):
    comparison = compare(districts, located(*given), None)
    assert comparison.is_right is is_right
    assert all(len(shares) == 1 for shares in comparison.shares.values())


def test_the_summary_of_a_join_with_a_table_has_one_version_and_no_slack(districts):
    streamed = located(*LOCATED)
    console = Console(width=120, no_color=True)
    with console.capture() as captured:
        console.print(summary(districts, streamed, None, compare(districts, streamed, None)))
    text = captured.get()
    assert "as streamed" in text
    assert "100 %" in text
    assert "700 ms" in text  # a row of a table has no time
    assert "correction" not in text
    assert "slack" not in text


def test_the_map_is_drawn_of_answers_and_of_none(tmp_path, districts, meetings):
    draw_answers(tmp_path / "map.png", districts, located(*LOCATED), meetings, answers(MET))
    draw_answers(tmp_path / "none.png", districts, located(*LOCATED).slice(2), meetings, answers(MET).slice(4))
    images = [(tmp_path / f"{name}.png").read_bytes() for name in ("map", "none")]
    assert all(image.startswith(b"\x89PNG") for image in images)
    assert images[0] != images[1]


def test_a_fix_that_is_answered_without_a_district_is_in_none():
    answered = pa.table({"left_id": ["in", "out", "in"], "right_id": ["East", None, "Bow Tie"]})
    assert _matched(answered).to_pylist() == ["in", "in"]
