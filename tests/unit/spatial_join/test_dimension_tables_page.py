"""Dimension tables from end to end: the example of the page; ten versions, replayed without their source."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from deltalake import DeltaTable, write_deltalake

from kit.runs.table_runs import ARRIVALS, COUNT, PLACES, write_stream
from kit.suite.command_line import call
from tailrace.query.declared import declared_query
from tailrace.query.loading import load
from tailrace.query.query import Query
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables
from tailrace.stream.local_stream import rebuild, run
from tailrace.stream.run_options import RunOptions

PAGE = Path(__file__).parents[3] / "docs" / "dimension-tables.md"
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def write_example(home: Path) -> None:
    """Zone west ends at x = 5 and, an hour later, at x = 6; parcels lie along y = 0.5."""
    hour, boxes = NOON + timedelta(hours=1), [(0, 0, 5, 1), (0, 0, 6, 1), (8, 0, 9, 1)]
    columns = {"zone": ["west", "west", "east"], "shape": [shapely.to_wkb(shapely.box(*box)) for box in boxes]}
    columns |= {"since": pa.array([None, hour, NOON]), "until": pa.array([hour, None, None], pa.timestamp("us", "UTC"))}
    write_deltalake(home / "zones", pa.table(columns | {"tariff": [1.0, 1.5, 2.0]}))
    (home / "parcels").mkdir()
    times = [NOON + timedelta(minutes=minutes) for minutes in (-1, 0, 59, 60, 61, 61)]
    places = pa.array([8.5, 8.5, 5.5, 5.5, 4.5, 7.0])
    parcels = {"parcel": [f"p{number}" for number in range(6)], "seen": times, "received": sorted(times)}
    pq.write_table(pa.table({**parcels, "lon": places, "lat": pa.repeat(0.5, 6)}), home / "parcels" / "0.parquet")


def test_the_example_of_the_page_gives_the_outer_join(tmp_path, monkeypatch, capsys):
    text = PAGE.read_text()
    (yaml, _), (commands,) = re.findall(r"```yaml\n(.*?)```", text, re.S), re.findall(r"```sh\n(.*?)```", text, re.S)
    (tmp_path / "parcels_by_zone.yaml").write_text(yaml)
    write_example(tmp_path)
    monkeypatch.chdir(tmp_path)
    first, second = (line.split()[1:] for line in commands.strip().splitlines())
    call(monkeypatch, first)
    capsys.readouterr()
    call(monkeypatch, [*second, "--format", "jsonl"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = {(row["left_id"], row["right_id"], row["right_tariff"]) for row in rows}
    zones, parcels = DeltaTable("zones").to_pyarrow_table(), pq.read_table("parcels")
    boxes = np.array([shapely.bounds(shapely.from_wkb(shape)) for shape in zones["shape"].to_pylist()])
    zones = zones.append_column("x0", pa.array(boxes[:, 0])).append_column("x1", pa.array(boxes[:, 2]))
    condition = "lon > x0 and lon < x1 and (since is null or seen >= since) and (until is null or seen < until)"
    with duckdb.connect() as connection:
        connection.register("zones", zones.drop_columns(["shape"]))
        connection.register("parcels", parcels)
        expected = connection.sql(f"select parcel, zone, tariff from parcels left join zones on {condition}").fetchall()
    assert found == set(expected)
    assert len(rows) == len(expected) == 6
    assert ("p5", None, None) in found
    query = load(tmp_path / "parcels_by_zone.yaml")
    current = DeltaTable(Layout.for_query(Path("warehouse"), query.name).table("current")).to_pyarrow_table()
    assert {(row["left_id"], row["right_id"]) for row in current.to_pylist()} == {row[:2] for row in found}


TEN = [{"a": shapely.box(0, 0, number + 0.5, 10), "b": shapely.box(2, number, 10, 10)} for number in range(10)]


def write_delta(path: Path, number: int) -> None:
    write_deltalake(path, table_of(TEN[number]), mode="overwrite")


def write_directory(path: Path, number: int) -> None:
    path.mkdir(exist_ok=True)
    for name, shape in TEN[number].items():
        new = path / f".{name}.new"
        pq.write_table(table_of({name: shape}), new)
        new.rename(path / f"{name}.parquet")


def table_of(shapes: dict[str, shapely.Geometry]) -> pa.Table:
    return pa.table({"id": [*shapes], "geometry": [shapely.to_wkb(shape) for shape in shapes.values()]})


WRITERS: dict[str, Callable[[Path, int], None]] = {"delta": write_delta, "parquet": write_directory}


def expected(tables: Tables) -> set[tuple[str, str | None, int]]:
    """The pairs by brute force, of each tuple with the version that holds for its segment."""
    facts = [fact for fact in tables.read("facts").to_pylist() if fact["about"] == "table"]
    order, pairs = np.argsort(ARRIVALS, kind="stable"), set()
    for segment in tables.read("segments").to_pylist():
        version = max(fact["version"] for fact in facts if fact["from_segment"] <= segment["ordinal"])
        for row in order[segment["position"] : segment["position"] + segment["rows"]]:
            point, shapes = shapely.Point(*PLACES[row]), TEN[version - 1]
            found = [name for name, shape in shapes.items() if point.intersects(shape)] or [None]
            pairs |= {(f"t{row}", name, version) for name in found if row != order[0]}
    return pairs


def pairs_of(tables: Tables) -> list[tuple[str, str | None, int]]:
    rows = tables.read("results").to_pylist()
    return [(row["left_id"], row["right_id"], row["facts_version"]) for row in rows]


def query_of(home: Path, table: dict[str, str], **more: object) -> Query:
    left = {name: name for name in ("event_time", "arrival_time", "id")}
    left |= {"source": {"format": "parquet", "path": str(home / "in")}}
    section = {"join": "table", "geometry": {"left": {"x": "lon", "y": "lat"}}, "relation": "intersects"} | more
    section |= {"table": table}
    return declared_query({"name": "where", "kind": "spatial_join", "streams": {"left": left}, "spatial_join": section})


@pytest.mark.needs("long")
@pytest.mark.parametrize("form", sorted(WRITERS))
def test_ten_versions_are_replayed_alike_when_their_source_is_gone(tmp_path, form):
    write_stream(tmp_path / "in")
    place, warehouse = tmp_path / "zones", tmp_path / "wh"
    WRITERS[form](place, 0)
    table = {"path": str(place), "format": form, "on_no_match": "null"}

    def on_batch(batch: int, *_: object) -> None:
        if batch + 1 < len(TEN):
            WRITERS[form](place, batch + 1)

    run(query_of(tmp_path, table), warehouse, RunOptions(COUNT // 10), on_batch)
    tables = Tables(Layout.for_query(warehouse, "where"))
    before = pairs_of(tables)
    assert len(set(before)) == len(before)
    assert set(before) == expected(tables)
    assert {version for _, _, version in before} == set(range(1, 11))
    assert any(name is None for _, name, _ in before)
    shutil.rmtree(place)
    rebuild(query_of(tmp_path, table, select=["left.lon"]), warehouse, Path("where.yaml"))
    again = Tables(Layout.for_query(warehouse, "where"))
    assert "left_lon" in again.read("results").column_names, "all was answered again"
    assert sorted(pairs_of(again), key=repr) == sorted(before, key=repr)
