"""What `select` and `where` of joins promise from files on: streamed, corrected, rebuilt, and refused where wrong."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.runs.json_stream import write_json
from kit.runs.local_driver import Driver, correct_here
from kit.runs.local_driver import no_spark as unread
from tailrace.cli.explanation import print_sample
from tailrace.correction import history_scan
from tailrace.correction.bucketed_scan import BucketedScan
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.spilled_shuffle import SpilledShuffle
from tailrace.ground.errors import Refused, Unfit
from tailrace.kind.failed_pairs import FailedPairs
from tailrace.panels.explanation import explanation
from tailrace.query.loading import located, parse
from tailrace.query.query import Query
from tailrace.storage.manifest import CheckpointManifest, changes
from tailrace.storage.results import read_answers
from tailrace.stream.local_stream import run
from tailrace.stream.run_summary import RunSummary
from tailrace.stream.source_sample import sample_sources

SIDES = ("left", "right")
EPOCH = 1_577_836_800_000
REACH_MS = 150
HEAD = """
name: meet
kind: KIND
streams:
  left:
    source: {format: FORMAT, path: left}
    event_time: at
    arrival_time: came
    id: taxi
    columns: {zone: upper(zone)}
  right:
    source: {format: FORMAT, path: right}
    event_time: at
    arrival_time: came
    id: taxi
    columns: {zone: upper(zone)}
disorder: {policy: none, tick: 20 ms}
"""
PLANAR = "crs: planar, relation: dwithin, distance: 1, grid: 2, extent: [0, 0, 4, 4]"
POINTS = "geometry: {left: {x: x, y: x}, right: {x: x, y: x}}"
SECTIONS = {
    "emd_join": (
        f"window: {{size: {REACH_MS} ms}}\n"
        "emd_join: {threshold: 0.5, histogram: hist, bins: 2, select: [SELECT], where: 'WHERE'}\n"
    ),
    "spatial_join": (
        f"spatial_join: {{join: interval, {POINTS}, interval: {{lower: -{REACH_MS} ms, upper: {REACH_MS} ms}}, "
        f"{PLANAR}, select: [SELECT], where: 'WHERE'}}\n"
    ),
    "window": (
        "window: {size: 300 ms, slide: 100 ms}\n"
        f"spatial_join: {{join: window, {POINTS}, {PLANAR}, select: [SELECT], where: 'WHERE'}}\n"
    ),
}
SELECT = "right.price, left.zone"
WHERE = "left.taxi <> right.taxi and left.zone <> right.zone and left.price + right.price < 60"
JOINS = pytest.mark.parametrize("join", SECTIONS)


def keeps(left: dict[str, Any], right: dict[str, Any], least: int = -(2**31)) -> bool:
    """What `WHERE` says; null is no, and a sum beyond an int is none."""
    if left["zone"] is None or right["zone"] is None or None in (left["price"], right["price"]):
        return False
    total = left["price"] + right["price"]
    return left["taxi"] != right["taxi"] and left["zone"].upper() != right["zone"].upper() and least <= total < 60


def records(side: int) -> list[dict[str, Any]]:
    """Records in order of arrival, some late, some with an id that came before."""
    draw, made = random.Random(side), []
    for number in range(70):
        came = EPOCH + number * 20 + draw.randrange(20)
        record = {"at": came - draw.choice([0, 0, 5, 700]), "came": came, "taxi": f"t{number % 60}"}
        record |= {"zone": draw.choice(["a", "A", "b", None]), "price": draw.choice([1, 40, None, -(2**31) + 5])}
        made.append(record | {"x": 1.0, "hist": [1.0, 2.0]})
    return made


STREAMS = [records(side) for side in (0, 1)]


def shared(left: dict[str, Any], right: dict[str, Any], join: str) -> list[int]:
    """What tells the answers of a pair apart: the ends of the windows that hold both."""
    a, b = sorted((left["at"], right["at"]))
    if join != "window":
        return [0] if b - a <= REACH_MS else []
    return [end for end in range(a // 100 * 100 + 100, a + 301, 100) if end - 300 <= b < end]


def truth(join: str, where: Callable[[dict, dict], bool]) -> dict[tuple, tuple]:
    firsts = [{row["taxi"]: row for row in reversed(rows)}.values() for rows in STREAMS]
    return {
        (left["taxi"], right["taxi"], end): (right["price"], left["zone"] and left["zone"].upper())
        for left in firsts[0]
        for right in firsts[1]
        if where(left, right)
        for end in shared(left, right, join)
    }


def given(query: Query, warehouse: Path, streamed: bool = False) -> dict[tuple, tuple]:
    rows = read_answers(query, warehouse, streamed)[0].to_pylist()
    found = {
        (row["left_id"], row["right_id"], row.get("window_end", 0)): (row["right_price"], row["left_zone"])
        for row in rows
    }
    assert len(found) == len(rows), "an answer was given twice"
    return found


def query_of(directory: Path, join: str, form: str = "parquet", where: str = WHERE, select: str = SELECT) -> Query:
    text = HEAD.replace("KIND", join if join == "emd_join" else "spatial_join").replace("FORMAT", form)
    text += SECTIONS[join].replace("SELECT", select).replace("WHERE", where.replace("'", "''"))
    return parse(directory / "meet.yaml", text)


def write_streams(directory: Path, form: str = "parquet") -> None:
    types = {"at": pa.int64(), "came": pa.int64(), "taxi": pa.string(), "zone": pa.string(), "price": pa.int32()}
    schema = pa.schema(types | {"x": pa.float64(), "hist": pa.list_(pa.float64())})
    for side, rows in zip(SIDES, STREAMS, strict=True):
        if form == "json":
            (directory / side).mkdir()
            write_json(rows, directory / side, 0)
        else:
            (directory / side).mkdir()
            pq.write_table(pa.Table.from_pylist(rows, schema), directory / side / "0.parquet")


@pytest.mark.needs("long")
@JOINS
@pytest.mark.parametrize("form", ["parquet", "json"])
def test_a_condition_holds_in_streamed_corrected_and_rebuilt_answers(tmp_path: Path, join: str, form: str) -> None:
    write_streams(tmp_path, form)
    query, warehouse = query_of(tmp_path, join, form), tmp_path / "wh"
    least = -(2**31) if form == "parquet" else -(2**63)
    driver, true = Driver(query, warehouse), truth(join, lambda left, right: keeps(left, right, least))
    driver.run(batch_rows=17, flush=True)
    streamed = given(query, warehouse, streamed=True)
    repeated = {f"t{number}" for number in range(10)}
    assert 0 < len(streamed) < len(true)
    assert {key: row for key, row in streamed.items() if not repeated & {*key[:2]}}.items() <= true.items()
    report = correct_here(query, warehouse)
    assert given(query, warehouse) == true
    assert (report.where_failed > 0) == (form == "parquet")
    assert report.where_failure == ("int overflow" if form == "parquet" else None)
    failed = sum(dict(row["counts"] or {}).get("where_failed", 0) for row in driver.tables.read("metrics").to_pylist())
    assert (failed > 0) == (form == "parquet"), "a sum of two ints overflows, and a sum of longs does not"
    again = correct_here(query, warehouse, CorrectionRange(EPOCH - 10**6, EPOCH + 10**6))
    assert join == "window" or again.answers == 0, "what is known is not given again"
    assert given(query, warehouse) == true

    other = query_of(tmp_path, join, form, "left.taxi < right.taxi")
    driver.rebuild(other)
    correct_here(other, warehouse)
    expected = truth(join, lambda left, right: left["taxi"] < right["taxi"])
    assert given(other, warehouse) == expected
    assert len(expected) > len(true)


@JOINS
@pytest.mark.parametrize(
    ("where", "fault", "remedy"),
    [
        (
            "left.price > right.price || 'x' or left.cost > 1",
            r"\w+.where: 1:36: .*no column 'cost', which \w+.where reads",
            "taxi",
        ),
        ("left.price", r"\w+.where: 1:1: the condition is int", "a boolean"),
        ("left.hist is null", r"\w+.where: 1:1: .*list<\w+: double>, but \w+.where reads it", "a string"),
        ("right.zone.first = 'x'", "string has no fields", "a struct"),
    ],
)
def test_what_does_not_fit_the_sources_is_refused_and_nothing_written(
    tmp_path: Path, join: str, where: str, fault: str, remedy: str
) -> None:
    write_streams(tmp_path)
    query = query_of(tmp_path, join, where=where)
    for attempt in (lambda: run(query, tmp_path / "wh"), lambda: sample_sources(query)):
        with pytest.raises(Unfit, match=fault) as refused:
            attempt()
        assert remedy in str(refused.value)
    assert not (tmp_path / "wh").exists() or not list((tmp_path / "wh").rglob("*.parquet"))


@JOINS
def test_columns_that_either_source_lacks_or_that_do_not_fit_are_refused_by_their_fields(
    tmp_path: Path, join: str
) -> None:
    write_streams(tmp_path)
    section = "emd_join" if join == "emd_join" else "spatial_join"
    query = query_of(tmp_path, join, select="left.taxy, right.nothing, right.PRICE")
    with pytest.raises(Unfit) as refused:
        sample_sources(query)
    assert [(problem.where, problem.remedy) for problem in refused.value.problems] == [
        (f"{section}.select: {tmp_path}/left/0.parquet", "taxi"),
        (f"{section}.select: {tmp_path}/right/0.parquet", "one of at, came, hist, price, taxi, x, zone"),
        (f"{section}.select: {tmp_path}/right/0.parquet", "price"),
    ]
    query, file = query_of(tmp_path, join, select="right.hist"), tmp_path / "meet.yaml"
    text = HEAD.replace("KIND", section).replace("FORMAT", "parquet")
    file.write_text(text + SECTIONS[join].replace("SELECT", "right.hist").replace("WHERE", "1 = 1"))
    line = len(file.read_text().splitlines())
    for attempt in (lambda: run(query, tmp_path / "wh"), lambda: sample_sources(query)):
        with pytest.raises(Unfit, match=f"{section}.select: .*column hist: its type is list") as unfit, located(file):
            attempt()
        (problem,) = unfit.value.problems
        assert problem.where.startswith(f"{file}:{line}: ")


@pytest.mark.parametrize(
    ("join", "before", "after", "field"),
    [
        ("emd_join", "histogram: hist", "histogram: hst", "emd_join.histogram"),
        ("emd_join", "histogram: hist", "histogram: zone", "emd_join.histogram"),
        ("spatial_join", "right: {x: x", "right: {x: xx", "spatial_join.geometry.right.x"),
        ("spatial_join", "left: {x: x", "left: {x: taxi", "spatial_join.geometry.left.x"),
    ],
)
def test_columns_of_histograms_and_geometries_are_refused_by_their_fields(
    tmp_path: Path, join: str, before: str, after: str, field: str
) -> None:
    write_streams(tmp_path)
    text = HEAD.replace("KIND", join).replace("FORMAT", "parquet").replace("    columns: {zone: upper(zone)}\n", "")
    section = SECTIONS[join].replace("SELECT", "left.taxi").replace("left.taxi", "left.price")
    query = parse(tmp_path / "meet.yaml", text + section.replace("WHERE", "1 = 1").replace(before, after))
    with pytest.raises(Unfit) as refused:
        sample_sources(query)
    assert {problem.where.partition(":")[0] for problem in refused.value.problems} == {field}


def test_a_sample_is_explained_with_the_bins_of_the_first_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_streams(tmp_path)
    text = HEAD.replace("KIND", "emd_join").replace("FORMAT", "parquet") + f"window: {{size: {REACH_MS} ms}}\n"
    query = parse(tmp_path / "meet.yaml", text + "emd_join: {threshold: 0.5, histogram: hist}\n")
    print_sample(query)
    shown = capsys.readouterr().out
    assert shown.count("\n  70 are tuples\n") == 2
    assert "bins" not in shown


@pytest.mark.parametrize("form", ["geojson", "csv"])
@pytest.mark.parametrize(
    ("select", "where", "fields"),
    [
        ("right.leest", "right.least > 1", "spatial_join.select"),
        ("right.zone", "left.price < 1 or right.leest > 1", "spatial_join.where: 1:19"),
    ],
)
def test_a_column_that_the_table_lacks_is_refused_by_its_field_with_the_near_name(
    tmp_path: Path, form: str, select: str, where: str, fields: str
) -> None:
    write_streams(tmp_path)
    write_zones(tmp_path)
    text = TABLE.replace("WHERE", where) + f"  select: [{select}]\n"
    if form == "csv":
        (tmp_path / "zones.csv").write_text("name,zone,least,geometry\nt1,a,30,POINT (1 1)\n")
        text = text.replace("zones.geojson", "zones.csv")
    query = parse(tmp_path / "meet.yaml", text)
    with pytest.raises(Refused) as refused:
        sample_sources(query)
    (problem,) = refused.value.problems
    assert problem.where == f"{fields}: {tmp_path}/zones.{form}"
    assert problem.remedy.startswith("least; one of ")


@JOINS
@pytest.mark.parametrize(
    ("where", "fault"),
    [
        ("taxi <> right.taxi", "1:1: taxi is not said to be of left or right"),
        ("count(left.taxi) > 1", "count is an aggregate"),
        ("left.price > now()", "now is the clock"),
        ("read_text(left.taxi) = 'x'", "there is no function read_text"),
    ],
)
def test_what_is_no_condition_is_refused_with_its_line(tmp_path: Path, join: str, where: str, fault: str) -> None:
    with pytest.raises(Refused) as refused:
        query_of(tmp_path, join, where=where)
    (problem,) = refused.value.problems
    section = "emd_join" if join == "emd_join" else "spatial_join"
    assert f": {section}.where" in problem.where
    assert problem.where.split(":")[1].isdecimal()
    assert fault in problem.fault


@JOINS
def test_the_identity_is_not_selected_and_a_condition_is_explained(tmp_path: Path, join: str) -> None:
    for text in ("left.taxi", "right.at"):
        with pytest.raises(Refused, match=f"{text} is the (id|event_time) of the stream"):
            query_of(tmp_path, join, select=text)
    assert explanation(query_of(tmp_path, join))["where of pairs"] == WHERE


def test_the_distance_of_histograms_is_there_already(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="distance comes out as distance, which an answer has already"):
        query_of(tmp_path, "emd_join", select="distance")


def test_a_checkpoint_is_bound_to_the_selection_and_the_condition(tmp_path: Path) -> None:
    text = HEAD.replace("KIND", "emd_join").replace("FORMAT", "parquet")
    query = parse(
        tmp_path / "meet.yaml", text + "window: {size: 1 s}\nemd_join: {threshold: 0.5, histogram: hist, bins: 2}"
    )
    manifest = CheckpointManifest.new(query.structure(), {}, {}, {})
    assert changes(manifest, query) == {}
    assert {"emd_join.select", "emd_join.where"} <= changes(manifest, query_of(tmp_path, "emd_join")).keys()


TABLE = """
name: meet
kind: spatial_join
streams:
  left:
    source: {format: parquet, path: left}
    event_time: at
    arrival_time: came
    id: taxi
spatial_join:
  join: table
  geometry: {left: {x: x, y: x}}
  crs: planar
  relation: within
  table: {path: zones.geojson, id: name}
  where: WHERE
"""


def write_zones(directory: Path) -> None:
    square = {"type": "Polygon", "coordinates": [[[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]]}
    zones = [("t1", "a", 30), ("t2", "b", None)]
    features = [
        {"type": "Feature", "properties": {"name": name, "zone": zone, "least": least}, "geometry": square}
        for name, zone, least in zones
    ]
    (directory / "zones.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))


def test_a_condition_reads_the_table_and_its_id(tmp_path: Path) -> None:
    write_streams(tmp_path)
    write_zones(tmp_path)
    query = parse(
        tmp_path / "meet.yaml",
        TABLE.replace("WHERE", "left.taxi <> right.name and (left.zone = right.zone or left.price > right.least)"),
    )
    run(query, tmp_path / "wh")
    rows = read_answers(query, tmp_path / "wh", False)[0].to_pylist()
    expected = {
        (row["taxi"], name)
        for row in STREAMS[0]
        for name, zone, least in [("t1", "a", 30), ("t2", "b", None)]
        if row["taxi"] != name and (row["zone"] == zone or (least or 10**9) < (row["price"] or 0))
    }
    assert {(row["left_id"], row["right_id"]) for row in rows} == expected
    assert 0 < len(expected) < 2 * 60


@pytest.mark.needs("long")
@JOINS
@pytest.mark.parametrize("in_buckets", [False, True])
def test_a_condition_that_fails_for_all_pairs_is_counted_by_a_correction(
    tmp_path: Path, join: str, in_buckets: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_streams(tmp_path)
    query, warehouse = (
        query_of(tmp_path, join, where="1 / (length(left.taxi) - length(left.taxi)) > 1"),
        tmp_path / "wh",
    )
    driver = Driver(query, warehouse)
    driver.run(flush=True)
    opened = unread
    if in_buckets:
        monkeypatch.setattr(history_scan, "AT_ONCE", 0)
        opened = lambda buckets: BucketedScan(SpilledShuffle(threads=1))  # noqa: E731
    report = correct(query, warehouse, CorrectionRange(), opened)
    pairs = len(truth(join, lambda left, right: True))
    assert (report.answers, report.where_failed, report.where_failure) == (0, pairs, "division by zero")
    (run,) = driver.tables.read("correction_runs").to_pylist()
    assert (run["where_failed"], run["where_failure"]) == (pairs, "division by zero")
    assert "=where_failed" not in driver.tables.read("corrections").schema.names


def test_a_condition_that_fails_over_a_table_is_counted(tmp_path: Path) -> None:
    write_streams(tmp_path)
    write_zones(tmp_path)
    query = parse(tmp_path / "meet.yaml", TABLE.replace("WHERE", "right.least / 0 > 1"))
    summary = RunSummary()
    run(query, tmp_path / "wh", on_batch=summary)
    assert not read_answers(query, tmp_path / "wh", False)[0].num_rows
    assert summary.failed_pairs == FailedPairs(len(STREAMS[0]), "division by zero")


@pytest.mark.parametrize(
    ("where", "fault"),
    [
        ("right.least", "spatial_join.where: 1:1: the condition is bigint"),
        ("left.zone.x = right.zone", "string has no fields"),
        ("right.nothing > 1", "nothing"),
    ],
)
def test_a_condition_that_does_not_fit_the_table_is_refused(tmp_path: Path, where: str, fault: str) -> None:
    write_streams(tmp_path)
    write_zones(tmp_path)
    query = parse(tmp_path / "meet.yaml", TABLE.replace("WHERE", where))
    for attempt in (lambda: run(query, tmp_path / "wh"), lambda: sample_sources(query)):
        with pytest.raises(Refused, match=fault):
            attempt()
    assert not list(tmp_path.glob("wh/**/*.parquet"))
