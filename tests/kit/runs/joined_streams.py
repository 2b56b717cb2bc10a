"""Two streams of tuples with a place and a histogram, and the queries of both kinds that join them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kit.runs.warehouse import EPOCH, TIME
from tailrace.query.declared import declared_query
from tailrace.query.query import Query

SIDES = ("left", "right")
REACH_MS, FILES = 300, 12
BINS = 8


def write_streams(directory: Path, count: int, step_ms: int = 20) -> None:
    """Write both streams in files: tuples some ms apart, delayed by 50 ms at the mean, whose places and bins drift."""
    for side, name in enumerate(SIDES):
        random = np.random.default_rng(side)
        event = EPOCH + np.arange(count) * step_ms
        arrival = event + random.exponential(50, count).astype(int)
        order = np.argsort(arrival, kind="stable")
        drift = np.linspace(0, 1, count)
        places = np.clip(random.normal(drift[:, None] * 6 + 2, 0.8, (count, 2)), 0, 10)
        peaks = np.clip(random.normal(drift * (BINS - 2), 1.0), 0, BINS - 1).astype(int)
        histograms = np.eye(BINS)[peaks] + random.uniform(0, 0.2, (count, BINS))
        columns: dict[str, Any] = {
            "event_time": pa.array(event).cast(TIME),
            "arrival_time": pa.array(arrival).cast(TIME),
        }
        columns |= {"id": [f"{name[0]}{number}" for number in range(count)]}
        columns |= {"x": places[:, 0], "y": places[:, 1], "hist": pa.array(histograms.tolist(), pa.list_(pa.float64()))}
        rows = pa.table(columns).take(pa.array(order))
        (directory / name).mkdir(parents=True, exist_ok=True)
        for number in range(FILES):
            part = rows.slice(number * count // FILES, count // FILES)
            pq.write_table(part, directory / name / f"{number:02d}.parquet")


def join(directory: Path, section: dict[str, Any], tasks: int = 3, k: str = "20 ms") -> Query:
    """The query of a section, which names its kind."""
    source = {"event_time": "event_time", "arrival_time": "arrival_time", "id": "id"}
    streams = {side: {"source": {"format": "parquet", "path": str(directory / side)}} | source for side in SIDES}
    disorder = {"policy": "k_slack", "k": k, "tick": "50 ms"}
    fields = {"name": "pairs", "streams": streams, "disorder": disorder, "parallelism": tasks}
    return declared_query(fields | section)


def similar(**more: Any) -> dict[str, Any]:
    """Histograms that are similar, balanced every 100 ms."""
    section = {"threshold": 0.4, "histogram": "hist", "span": 0.25, "feedback": "100 ms", "bins": BINS}
    section = {name: value for name, value in (section | more).items() if value is not None}
    return {"kind": "emd_join", "window": {"size": f"{REACH_MS} ms"}, "emd_join": section}


def near(**more: Any) -> dict[str, Any]:
    """Places that are near each other."""
    section: dict[str, Any] = {"join": "interval", "geometry": {side: {"x": "x", "y": "y"} for side in SIDES}}
    section |= {"crs": "planar", "relation": "dwithin", "distance": 1.0, "grid": 8, "extent": [0, 0, 10, 10]}
    section |= {"interval": {"lower": f"-{REACH_MS} ms", "upper": f"{REACH_MS} ms"}}
    return {
        "kind": "spatial_join",
        "spatial_join": {name: value for name, value in (section | more).items() if value is not None},
    }
