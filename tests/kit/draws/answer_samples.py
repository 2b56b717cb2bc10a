"""Queries of every kind over small streams with late tuples and repeats of ids, in many batches."""

from __future__ import annotations

import random
from pathlib import Path

from kit.draws.join_queries import CONTENT, query_over
from kit.oracles.oracle import Settings
from kit.oracles.pair_oracle import Join
from kit.runs.json_stream import write_json
from kit.runs.pair_runs import SIDES
from kit.runs.warehouse import EPOCH, even, make_query, make_stream, write_files
from tailrace.query.declared import declared_query
from tailrace.query.query import Query

SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 200))
JOIN = Join(reach=300, tick=100, k=100)
TABLE = """{"type": "FeatureCollection", "features": [{"type": "Feature", "id": "z", "properties": {},
"geometry": {"type": "Polygon", "coordinates": [[[0, 0], [2, 0], [2, 2], [0, 2], [0, 0]]]}}]}"""
PARTS = 8


def windows(home: Path, topk: dict | None = None) -> Query:
    tuples = make_stream(480, 3, duplicates=5)
    write_files(tuples, home / "in", even(480, PARTS))
    return make_query(home / "in", SETTINGS, topk=topk)


def pairs(home: Path, kind: str) -> Query:
    """Two streams in which an id comes again, up to a reach later."""
    draw, query = random.Random(5), query_over(home, kind, 2, JOIN)
    arrival = EPOCH
    for number in range(PARTS):
        for side in ("left", "right"):
            records = []
            for row in range(15):
                arrival += draw.randrange(40)
                name = f"{side}{number * 15 + row - (2 if draw.random() < 0.2 else 0)}"
                record = {"event_time": arrival - draw.choice([0, 40, 700]), "arrival_time": arrival, "id": name}
                records.append(record | {"value": CONTENT[kind][draw.choice("aab")]})
            (home / side).mkdir(exist_ok=True)
            write_json(records, home / side, number)
    return query


def window_pairs(home: Path) -> Query:
    pairs(home, "spatial_join")
    stream = {"event_time": "event_time", "arrival_time": "arrival_time", "id": "id"}
    section = {"join": "window", "geometry": {side: {"wkt": "value"} for side in SIDES}, "crs": "planar", "grid": 4}
    return declared_query(
        {
            "name": "readings",
            "kind": "spatial_join",
            "streams": {side: {"source": {"format": "json", "path": str(home / side)}} | stream for side in SIDES},
            "window": {"size": "300 ms", "slide": "100 ms"},
            "disorder": {"policy": "k_slack", "k": "100 ms", "tick": "100 ms"},
            "spatial_join": section | {"relation": "dwithin", "distance": "0.5", "extent": [0.0, 0.0, 4.0, 4.0]},
        }
    )


def table_pairs(home: Path, on_no_match: str = "drop") -> Query:
    """A join with a zone in which every third tuple lies."""
    (home / "table.geojson").write_text(TABLE)
    for number in range(PARTS):
        times = [EPOCH + 1000 * number + 20 * row for row in range(30)]
        records = [
            {"event_time": at, "arrival_time": at, "id": f"t{number}-{row}", "value": f"POINT (1 {1 + row % 3})"}
            for row, at in enumerate(times)
        ]
        (home / "in").mkdir(exist_ok=True)
        write_json(records, home / "in", number)
    stream = {"source": {"format": "json", "path": str(home / "in")}, "id": "id"}
    section = {"join": "table", "geometry": {"left": {"wkt": "value"}}, "crs": "planar", "relation": "within"}
    section |= {"table": {"path": str(home / "table.geojson"), "id": "id", "on_no_match": on_no_match}}
    return declared_query(
        {
            "name": "readings",
            "kind": "spatial_join",
            "streams": {"left": stream | {"event_time": "event_time", "arrival_time": "arrival_time"}},
            "spatial_join": section,
        }
    )


MAKERS = {
    "windows": windows,
    "topk": lambda home: windows(home, {"k": 2, "score": "value"}),
    "emd_join": lambda home: pairs(home, "emd_join"),
    "interval": lambda home: pairs(home, "spatial_join"),
    "window pairs": window_pairs,
    "table": table_pairs,
    "table with unmatched tuples": lambda home: table_pairs(home, "null"),
}
