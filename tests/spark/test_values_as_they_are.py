"""Values on Spark are what files say: microseconds, partial dates and a table's own coordinate system."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

from tailrace.correction import history_scan
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.spark.app import run
from tailrace.spark.distributed_correction import correct
from tailrace.storage.results import read_answers
from tailrace.stream.run_options import RunOptions

LATER = "9,2024-01-01T00:06:00Z,2024-01-01T00:06:05Z,{v}\n"
"""A tuple that closes the first minute; what comes after it for that minute is late."""


@pytest.fixture(autouse=True)
def all_on_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_scan, "AT_ONCE", 0)


def aggregate(place: Path, rows: str, columns: dict[str, str], answers: dict[str, Any]) -> Query:
    (place / "in").mkdir()
    (place / "in/a.csv").write_text(f"id,ts,at,v\n{rows}")
    source = {"format": "csv", "path": str(place / "in")}
    stream = {"source": source, "event_time": "ts", "arrival_time": "at", "id": "id", "columns": columns}
    return declared_query(
        {"name": "values", "kind": "aggregate", "streams": {"s": stream}, "window": "1 min", "aggregate": answers}
        | {"disorder": {"policy": "k_slack", "k": "0 s"}}
    )


def first_minute(query: Query, place: Path, streamed: bool) -> dict[str, Any]:
    answers, columns = read_answers(query, place / "wh", streamed=streamed)
    return min(answers.select(columns).to_pylist(), key=lambda row: row["window_start"])


def streamed_and_corrected(query: Query, place: Path) -> list[tuple[Any, ...]]:
    """Return the values of the first minute as streamed and as corrected, both by Spark."""
    run(query, place / "wh", RunOptions())
    before = first_minute(query, place, streamed=True)
    correct(query, place / "wh")
    return [tuple(row[name] for name in query.aggregate.each) for row in (before, first_minute(query, place, False))]


def test_first_and_last_go_by_microseconds(tmp_path: Path, spark: Any) -> None:
    row = "{},2024-01-01T00:00:01.{:06}Z,2024-01-01T00:0{}Z,e{}\n"
    on_time = [(1, 900), (2, 100), (3, 1500), (4, 1200)]
    rows = "".join(row.format(id_, us, "0:11", us) for id_, us in on_time) + LATER.format(v="-")
    query = aggregate(
        tmp_path,
        rows + row.format(10, 50, "6:10", 50),
        {},
        {
            "f": {"function": "first", "column": "v"},
            "l": {"function": "last", "column": "v"},
            "n": {"function": "count"},
        },
    )
    assert streamed_and_corrected(query, tmp_path) == [("e100", "e1500", 4), ("e50", "e1500", 5)]


def test_partial_dates_are_dates(tmp_path: Path, spark: Any) -> None:
    row = "{},2024-01-01T00:00:01Z,2024-01-01T00:0{}Z,{}\n"
    texts = ["2024-02-03", "2024-02", "2024", "2024-2-9"]
    rows = "".join(row.format(id_, "0:11", text) for id_, text in enumerate(texts)) + LATER.format(v="2024-01-01")
    query = aggregate(
        tmp_path,
        rows + row.format(10, "6:10", "2023"),
        {"due": "to_date(v)"},
        {
            "n": {"function": "count"},
            "lo": {"function": "min", "column": "due"},
            "hi": {"function": "max", "column": "due"},
        },
    )
    assert streamed_and_corrected(query, tmp_path) == [
        (4, date(2024, 1, 1), date(2024, 2, 9)),
        (5, date(2023, 1, 1), date(2024, 2, 9)),
    ]


def test_a_table_in_metres_is_transformed(tmp_path: Path, spark: Any) -> None:
    """The square of 80 m reaches to 0.0007 degrees."""
    square = shapely.to_wkb(shapely.box(0, 0, 80, 80))
    crs = {"type": "ProjectedCRS", "name": "WGS 84 / Pseudo-Mercator", "id": {"authority": "EPSG", "code": 3857}}
    geometry = {"encoding": "WKB", "geometry_types": ["Polygon"], "crs": crs}
    about = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": geometry}}
    table = pa.table({"name": ["P"], "geometry": pa.array([square], pa.binary())})
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(about)}), tmp_path / "zones.parquet")
    (tmp_path / "in").mkdir()
    points = [(50, 40), (1, 1), (0.0005, 0.0005)]
    at = datetime(2024, 1, 1, tzinfo=UTC).isoformat()
    rows = "".join(f"{id_},{at},{at},{x},{y}\n" for id_, (x, y) in enumerate(points))
    (tmp_path / "in/a.csv").write_text(f"id,ts,at,x,y\n{rows}")
    source = {"format": "csv", "path": str(tmp_path / "in")}
    stream = {"source": source, "event_time": "ts", "arrival_time": "at", "id": "id"}
    join = {"join": "table", "geometry": {"left": {"x": "x", "y": "y"}}, "relation": "within"}
    join["table"] = {"path": str(tmp_path / "zones.parquet"), "id": "name"}
    fields = {"name": "zones", "kind": "spatial_join", "streams": {"left": stream}, "spatial_join": join}
    query = declared_query(fields)
    run(query, tmp_path / "wh", RunOptions())
    answers, columns = read_answers(query, tmp_path / "wh", streamed=True)
    pairs = [(str(row["left_id"]), row["right_id"]) for row in answers.select(columns).to_pylist()]
    assert pairs == [("2", "P")]
