"""A query of each kind, and of each join, over Parquet files in a directory for each of its streams."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from kit.runs.warehouse import EPOCH, TIME, tables_of
from tailrace.query.declared import declared_query
from tailrace.query.query import Query

WINDOW = {"window": {"size": "500 ms", "slide": "250 ms"}}
MOVED = {"window": {"size": "500 ms", "slide": "250 ms", "offset": "-70 ms"}}
AREAS = {"a": '"é", \\', "b": "", None: None}
HISTOGRAMS = ([1.0, 2.0, 3.0, 0.0], [1.0, 1.0, 3.0, 1.0], [0.0, 0.0, 0.0, 5.0])
PLANAR = {"crs": "planar"}
POINTS = {side: {"x": "x", "y": "y"} for side in ("left", "right")}
NEAR = PLANAR | {"grid": 4, "extent": [0, 0, 10, 10], "geometry": POINTS, "relation": "dwithin", "distance": 3}
EMD = {"threshold": 0.5, "histogram": "hist", "ground_distance": "line", "scale": 1.0, "bins": 4}
SOUND = "left.x + right.y >= 0 and left.id <> right.id"
"""A condition that each pair fulfils."""
DISTRICTS = {"path": "zones.geojson", "id": "name", "geometry": "geometry"}

KINDS = {
    "aggregate": {"kind": "aggregate", "aggregate": {"function": "median", "column": "x"}} | MOVED,
    "named aggregates": {
        "kind": "aggregate",
        "aggregate": {
            "total": {"function": "sum", "column": "x"},
            "newest": {"function": "last", "column": "y"},
            "first_key": {"function": "min", "column": "key"},
            "number": {"function": "count", "estimate": True},
        },
    }
    | WINDOW,
    "topk": {"kind": "topk", "topk": {"k": 2, "score": "x", "select": ["y"]}} | WINDOW,  # by a list of keys
    "emd_join": {
        "kind": "emd_join",
        "window": {"size": "200 ms"},
        "emd_join": EMD | {"span": 0.25, "feedback": "1 s", "select": ["right.key"], "where": SOUND},
    },
    "spatial interval": {
        "kind": "spatial_join",
        "spatial_join": NEAR
        | {"join": "interval", "interval": {"lower": "-200 ms", "upper": "200 ms"}, "select": ["left.x"]}
        | {"where": SOUND},
    },
    "spatial window": {"kind": "spatial_join", "spatial_join": NEAR | {"join": "window"}} | WINDOW,
    "spatial table": {
        "kind": "spatial_join",
        "spatial_join": PLANAR
        | {"join": "table", "geometry": {"left": POINTS["left"]}, "relation": "within", "table": DISTRICTS}
        | {"select": ["left.y"], "where": "left.id <> right.name and left.x >= 0"},
    },
}
SESSIONS = {
    "sessions": {
        "kind": "aggregate",
        "aggregate": {"function": "sum", "column": "x"},
        "window": {"session": "60 ms"},
    }
}
"""Windows of another form, for the tests that name them."""
TABLE_JOIN = "spatial table"
SIDES = ("left", "right")
DELAYS = (0, 50, 150, 1500)
"""Of tuples, ms: some are late."""

_FUTURE = 2 * 86_400_000  # further ahead than an event time may be


class Row(NamedTuple):
    """A tuple with the columns that all kinds read; files have `area` and `number` too."""

    event_time: int
    arrival_time: int
    id: str
    key: str | None
    x: float
    y: float
    hist: list[float]

    @staticmethod
    def draw(event_time: int, arrival_time: int, name: str, draw: random.Random) -> Row:
        """A tuple at a place, and with a key and a histogram, that are drawn."""
        x, y = (float(draw.randrange(11)) for _ in range(2))
        return Row(event_time, arrival_time, name, draw.choice(["a", "b", None]), x, y, draw.choice(HISTOGRAMS))


def sides_of(name: str) -> tuple[str, ...]:
    """The names of a kind's streams."""
    if name == TABLE_JOIN:
        return SIDES[:1]
    return SIDES if str((KINDS | SESSIONS)[name]["kind"]).endswith("join") else ("readings",)


def query_of(name: str, directory: Path, **sections: Any) -> Query:
    """The query of a kind over streams in a directory, with further sections; one of two streams drops repeats."""
    declared, sides = json.loads(json.dumps((KINDS | SESSIONS)[name])), sides_of(name)
    columns = {column: column for column in ("event_time", "arrival_time", "id")}
    keys = {"aggregate": "key", "named aggregates": "key", "sessions": "key", "topk": ["area", "number"]}
    columns |= {"key": keys[name]} if name in keys else {}
    if name == TABLE_JOIN:
        declared["spatial_join"]["table"]["path"] = str(write_zone(directory / "zones.geojson"))
    else:
        disorder = {"policy": "k_slack", "k": "200 ms", "tick": "100 ms"}
        declared["disorder"] = disorder | ({"deduplicate": True} if sides == SIDES else {})
    streams = {side: {"source": {"format": "parquet", "path": str(directory / side)}} | columns for side in sides}
    return declared_query({"name": "readings", "streams": streams, "parallelism": 2} | declared | sections)


def disturbed_rows(side: str, count: int, draw: random.Random, delays: Sequence[int] = DELAYS) -> list[Row]:
    """Tuples of a stream in order of arrival: some late, some with the id of the one before, some to be rejected."""
    arrival, rows = EPOCH, []
    for number in range(count):
        arrival += draw.randrange(60)
        event = arrival - draw.choice(delays) + (_FUTURE if draw.random() < 0.03 else 0)
        name = f"{side[0]}{number - (draw.random() < 0.05)}"
        rows.append(Row.draw(event, arrival, name, draw))
    return rows


def contents(
    warehouse: Path, names: Iterable[str] = ("results", "late", "quarantine", "corrections")
) -> dict[str, list[str]]:
    """Return the rows of those of the named tables that are there, in no order, without what each run measures anew."""
    tables = tables_of(warehouse)
    return {
        name: sorted(str(without_measured(row)) for row in rows)
        for name in names
        if tables.has(name) and (rows := tables.read(name).to_pylist()) is not None
    }


def without_measured(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of a table without when it was written and, of its loads, without CPU times."""
    kept = {column: value for column, value in row.items() if column != "emitted_at"}
    if kept.get("loads"):
        kept["loads"] = [load for load in kept["loads"] if not load[0].endswith("_ms")]
    return kept


def write_files(rows: list[Row], directory: Path, per_file: int) -> None:
    """Write rows as files that come after those that are there."""
    directory.mkdir(parents=True, exist_ok=True)
    first = len(list(directory.iterdir()))
    texts, numbers = (("id", "key"), pa.string()), (("x", "y"), pa.float64())
    fields = [("event_time", TIME), ("arrival_time", TIME), ("hist", pa.list_(pa.float64()))]
    fields += [("area", pa.string()), ("number", pa.int32())]
    schema = pa.schema([*fields, *((name, kind) for names, kind in (texts, numbers) for name in names)])
    records = [row._asdict() | {"area": AREAS[row.key], "number": int(row.x) % 2} for row in rows]
    for number, start in enumerate(range(0, len(rows), per_file), first):
        part = pa.Table.from_pylist(records[start : start + per_file], schema)
        pq.write_table(part, directory / f"part-{number:05d}.parquet")


def write_zone(path: Path) -> Path:
    """A dimension table of one zone."""
    square = [[0, 0], [6, 0], [6, 6], [0, 6], [0, 0]]
    shape = {"type": "Polygon", "coordinates": [square]}
    feature = {"type": "Feature", "properties": {"name": "zone"}, "geometry": shape}
    path.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    return path
