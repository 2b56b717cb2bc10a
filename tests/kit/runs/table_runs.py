"""A join with a table that changes: its stream and versions, a run on any engine, and the answers by brute force."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely

from kit.runs.warehouse import EPOCH, TIME
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables
from tailrace.stream.run_options import RunOptions

COUNT, BATCH_ROWS, CHANGED_AFTER = 3000, 500, 1
RANDOM = np.random.default_rng(7)
EVENTS = EPOCH + np.arange(COUNT) * 10
ARRIVALS = EVENTS + RANDOM.integers(0, 400, COUNT)
PLACES = RANDOM.uniform(0, 10, (COUNT, 2))
PLACES[::97] = 5.0  # on a corner of four zones
VERSIONS = (
    {"west": shapely.box(0, 0, 5, 10), "east": shapely.box(5, 0, 10, 10)},
    {"south": shapely.box(0, 0, 10, 5), "east": shapely.box(5, 0, 10, 10), "all": shapely.box(-1, -1, 11, 11)},
    {"late": shapely.box(0, 0, 10, 10)},
)


def write_table(path: Path, number: int) -> None:
    features = [
        {"type": "Feature", "id": name, "properties": {}, "geometry": json.loads(shapely.to_geojson(shape))}
        for name, shape in VERSIONS[number].items()
    ]
    new = path.with_suffix(".new")
    new.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    new.rename(path)


def write_stream(directory: Path, parts: int = 2) -> None:
    """The tuples in order of arrival, in files; one of them has no geometry."""
    for part in range(parts):
        write_part(directory, part, parts)


def write_part(directory: Path, part: int, parts: int) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    order = np.argsort(ARRIVALS, kind="stable")
    lon, lat = PLACES[order].T
    columns = {
        "event_time": pa.array(EVENTS[order]).cast(TIME),
        "arrival_time": pa.array(ARRIVALS[order]).cast(TIME),
        "id": [f"t{number}" for number in order],
        "lon": pa.array([None, *lon[1:]]),
        "lat": lat,
    }
    rows = COUNT // parts
    new = directory / f"{part}.new"
    pq.write_table(pa.table(columns).slice(part * rows, rows), new, row_group_size=300)
    new.rename(directory / f"{part}.parquet")


def make_query(directory: Path, table: Path | None = None, **more: object) -> Query:
    left = {name: name for name in ("event_time", "arrival_time", "id")}
    left |= {"source": {"format": "parquet", "path": str(directory / "in")}}
    section = {"join": "table", "geometry": {"left": {"x": "lon", "y": "lat"}}, "relation": "intersects"}
    section |= {"table": {"path": str(table or directory / "zones.geojson")}} | more
    return declared_query({"name": "where", "kind": "spatial_join", "streams": {"left": left}, "spatial_join": section})


def start(directory: Path, warehouse: Path, run: Callable[..., int], **more: object) -> None:
    """Run it from its checkpoint on, on an engine; the table changes between two batches."""
    table = directory / "zones.geojson"

    def on_batch(batch: int, *_: object) -> None:
        if batch == CHANGED_AFTER:
            write_table(table, 1)

    run(make_query(directory), warehouse, RunOptions(BATCH_ROWS), on_batch, **more)


def expected(tables: Tables, versions: list[int], relation: str = "intersects") -> set[tuple[str, str, int]]:
    """The pairs by brute force: each tuple with the version that holds from its segment on."""
    facts = [fact for fact in tables.read("facts").to_pylist() if fact["about"] == "table"]
    since = {fact["from_segment"]: fact["version"] for fact in facts}
    assert sorted(since.values()) == list(range(1, len(versions) + 1))
    pairs: set[tuple[str, str, int]] = set()
    order = np.argsort(ARRIVALS, kind="stable")
    for segment in tables.read("segments").to_pylist():
        version = max(number for start, number in since.items() if start <= segment["ordinal"])
        for row in order[segment["position"] : segment["position"] + segment["rows"]]:
            if row == order[0]:
                continue  # in quarantine
            point = shapely.Point(*PLACES[row])
            shapes = VERSIONS[versions[version - 1]]
            pairs |= {(f"t{row}", name, version) for name, shape in shapes.items() if getattr(point, relation)(shape)}
    return pairs


def assert_answered(warehouse: Path, versions: list[int], relation: str = "intersects") -> Tables:
    tables = Tables(Layout.for_query(warehouse, "where"))
    rows = tables.read("results").to_pylist()
    found = {(row["left_id"], row["right_id"], row["facts_version"]) for row in rows}
    assert len(found) == len(rows), "a pair was answered twice"
    assert found == expected(tables, versions, relation)
    time_of = {f"t{number}": (int(EVENTS[number]), int(ARRIVALS[number])) for number in range(COUNT)}
    for row in rows:
        event, arrival = time_of[row["left_id"]]
        assert (row["left_time"], row["right_time"]) == (event, None)
        assert row["as_of"] == arrival // 100 * 100 + 100
    metrics = tables.read("metrics")
    assert sum(metrics["rows"].to_pylist()) == COUNT - 1
    assert sum(metrics["answers"].to_pylist()) == len(rows)
    assert tables.read("late").num_rows == 0
    assert tables.read("quarantine").num_rows == 1
    return tables
