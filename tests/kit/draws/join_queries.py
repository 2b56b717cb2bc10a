"""Queries that join two streams of JSON lines, of both kinds that do: their tuples' values are alike, or not."""

from __future__ import annotations

from pathlib import Path

from kit.oracles.pair_oracle import Join
from kit.runs.pair_runs import SIDES
from tailrace.query.declared import declared_query
from tailrace.query.query import Query

JOIN = Join(reach=300, tick=100, k=100, alike=lambda a, b: (a == "c") == (b == "c"))
CONTENT = {
    "emd_join": {"a": [1.0, 2.0, 3.0, 0.0], "b": [1.0, 1.0, 3.0, 1.0], "c": [0.0, 0.0, 0.0, 5.0]},
    "spatial_join": {"a": "POINT (1 1)", "b": "POINT (1.1 1)", "c": "POINT (3 3)"},
}
"""By kind, the values of tuples: a and b are alike, c is like neither."""


def query_over(directory: Path, kind: str, tasks: int, join: Join = JOIN) -> Query:
    stream = {"event_time": "event_time", "arrival_time": "arrival_time", "id": "id"}
    section: dict = {"threshold": 0.5, "histogram": "value", "ground_distance": "line", "scale": 1.0, "bins": 4}
    section |= {"span": 0.25, "feedback": "1 ms"}
    window = {"window": {"size": f"{join.reach} ms"}}
    if kind == "spatial_join":
        section = {"join": "interval", "geometry": {side: {"wkt": "value"} for side in SIDES}, "crs": "planar"}
        section |= {"relation": "dwithin", "distance": "0.5", "grid": 4, "extent": [0.0, 0.0, 4.0, 4.0]}
        section |= {"interval": {"lower": f"-{join.reach} ms", "upper": f"{join.reach} ms"}}
        window = {}
    return declared_query(
        {
            "name": "readings",
            "kind": kind,
            "streams": {side: {"source": {"format": "json", "path": str(directory / side)}} | stream for side in SIDES},
            "disorder": {"policy": "k_slack", "k": f"{join.k} ms", "tick": f"{join.tick} ms"},
            kind: section,
            "parallelism": tasks,
        }
        | window
    )
