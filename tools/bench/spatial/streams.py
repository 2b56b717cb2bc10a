"""The streams of paper 003's experiments: two fleets of taxis in Beijing, and the joins of taxis that meet.

The paper's T-Drive can't be had: `tools/generators/taxis.py` is a model of it. As in section 3.2, two streams of it are
joined where fixes are at most a kilometre apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from generators.replay import START_MS, TIME
from generators.taxis import taxis
from tailrace.query.declared import declared_query
from tailrace.query.query import Query

SIDES = ("left", "right")
TUPLES, DISTANCE_M = 100_000, 1000
"""The tuples of either stream on Spark, and the largest distance of a pair."""

EXTENT = (115.4, 39.4, 117.5, 41.1)
"""The box of Beijing in degrees that the grid covers."""

TICK_MS = 1000


def taxi_batches(tuples: int, fleet: int = 0) -> Iterator[pa.RecordBatch]:
    """Yield the first fixes of a fleet, in order of arrival, in batches of ten minutes.

    Fixes arrive at their event times.
    """
    left = tuples
    for batch in taxis(shift=fleet):
        yield batch.slice(0, left)
        left -= batch.num_rows
        if left <= 0:
            return


def taxi_streams(tuples: int) -> dict[str, pa.Table]:
    """Return two fleets on the same roads as the streams of a join, of `tuples` tuples each."""
    return {side: pa.Table.from_batches(taxi_batches(tuples, fleet)) for fleet, side in enumerate(SIDES)}


def empty_streams(batches: int, every_ms: int = TICK_MS) -> dict[str, pa.Table]:
    """Return streams for nearly empty batches: one tuple of either stream each, which never meet."""
    time = pa.array([START_MS + every_ms * number for number in range(batches)], TIME)
    return {
        side: pa.table(
            {
                "event_time": time,
                "arrival_time": time,
                "id": [f"{side}-{number}" for number in range(batches)],
                "lon": [EXTENT[0] + fleet] * batches,
                "lat": [EXTENT[1]] * batches,
            }
        )
        for fleet, side in enumerate(SIDES)
    }


def meeting_query(
    join: str,
    minutes: float,
    section: Mapping[str, Any] | None = None,
    directory: Path | None = None,
    parallelism: int = 1,
    tick_ms: int = TICK_MS,
) -> Query:
    """Return the join of taxis that meet in an interval as long as a window.

    So both joins have equally many partners.

    Parameters
    ----------
    join : str
        interval: right.time − left.time is at most half of `minutes`, to either side. window: both are in one tumbling
        window of `minutes`.
    section : mapping, optional
        Other settings of `spatial_join`: method, grid, bin.
    directory : Path, optional
        The parent of the streams' directories; absent for streams in memory.
    """
    spatial: dict[str, Any] = {"join": join, "relation": "dwithin", "distance": f"{DISTANCE_M} m"}
    spatial |= {"geometry": {side: {"x": "lon", "y": "lat"} for side in SIDES}} | dict(section or {})
    if spatial.get("method") != "native":
        spatial |= {"extent": list(EXTENT)}
    half_s = round(30 * minutes)
    between = {"interval": {"lower": f"-{half_s} s", "upper": f"{half_s} s"}}
    tumbling = {"window": dict.fromkeys(("size", "slide"), f"{2 * half_s} s")}
    query: dict[str, Any] = {"name": "meet", "kind": "spatial_join", "parallelism": parallelism}
    query |= {"streams": {side: source((directory or Path()) / side) for side in SIDES}}
    query |= {"spatial_join": spatial | (between if join == "interval" else {})}
    query |= {"disorder": {"policy": "none", "tick": f"{tick_ms} ms"}} | (tumbling if join == "window" else {})
    return declared_query(query)


def source(directory: Path) -> dict[str, Any]:
    """Return the declaration of a stream of taxis in Parquet files."""
    columns = {name: name for name in ("event_time", "arrival_time", "id")}
    return {"source": {"format": "parquet", "path": str(directory)}} | columns
